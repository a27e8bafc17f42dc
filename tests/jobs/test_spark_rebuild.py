"""A real job that is built anew beside itself while its topic fills and its view is read; its sink goes on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from headrace.jobs.hands import DRIVER
from headrace.jobs.states import State
from headrace.server.services.plans import Plans
from headrace.views.reading import View
from headrace.views.sqlite import SqliteViewStore
from support.homes import own_home
from support.topics import new_topic, send
from support.waiting import until

pytestmark = pytest.mark.spark

TEXT = """
CREATE STREAM orders (k STRING, v INT) WITH (connector = 'kafka', bootstrap_servers = 'SERVERS', topic = 'TOPIC',
  format = 'json', max_rows_per_batch = 400);
CREATE MATERIALIZED VIEW totals AS SELECT k, count(*) AS n, 'old' AS build FROM orders GROUP BY k;
CREATE SINK copies WITH (connector = 'files', path = 'copies', format = 'json') AS SELECT k, v FROM orders;
"""
PATIENCE = 480
KEYS = 10


@dataclass
class Reader:
    """Reads the view as the server's readers do, again and again, and notes what must not be."""

    yard: object
    builds: list[str] = field(default_factory=list)
    most: int = 0
    reads: int = 0
    wrong: list[str] = field(default_factory=list)

    def rows(self):
        job = self.yard.jobs.show("shop")
        kept = Plans(self.yard.jobs).of(job).kept()
        store = SqliteViewStore(kept.state / "views.sqlite", read_only=True)
        try:
            return list(View(store, "totals").rows())
        finally:
            store.close()

    def read(self) -> None:
        rows = self.rows()
        builds = {row["build"] for row in rows}
        total = sum(row["n"] for row in rows)
        if len(builds) != 1 or len(rows) != KEYS:
            self.wrong.append(f"{len(rows)} rows of {builds}")
            return
        if total < self.most:
            self.wrong.append(f"{total} after {self.most} in {builds}")
        build = builds.pop()
        if self.builds[-1:] != [build]:
            self.builds.append(build)
        self.most, self.reads = max(total, self.most), self.reads + 1

    @contextmanager
    def reading(self) -> Iterator[None]:
        stop = threading.Event()

        def go() -> None:
            while not stop.is_set():
                try:
                    self.read()
                except Exception as error:  # a view that cannot be read is what this looks for
                    self.wrong.append(repr(error))
                stop.wait(0.02)

        thread = threading.Thread(target=go)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def orders(count):
    return [{"k": f"k{number % KEYS}", "v": 1} for number in range(count)]


def test_a_view_is_never_empty_and_never_mixed(yard, tmp_path, broker):
    servers = broker.start()
    topic = new_topic(servers)
    send(servers, topic, orders(2000))
    yard.command, yard.environment = DRIVER, own_home(tmp_path)
    yard.new_server()
    text = TEXT.replace("SERVERS", servers).replace("TOPIC", topic)
    yard.jobs.submit("submit", name="shop", text=text, directory=tmp_path, memory=700)
    reader = Reader(yard)
    sent = 2000

    def ticking(what):
        def there() -> bool:
            yard.server.tick()
            return what()

        until(there, PATIENCE)

    def builder():
        return yard.jobs.rebuild_of(yard.jobs.show("shop"))

    try:
        yard.tick_until("shop", State.RUNNING, PATIENCE)
        ticking(lambda: any(each.positions for each in yard.jobs.figures(yard.jobs.show("shop"))))
        ticking(lambda: sum(row["n"] for row in reader.rows()) == sent)
        with reader.reading():
            yard.jobs.rebuild("shop", "rebuild", text=text.replace("'old'", "'new'"))
            ticking(lambda: builder().state is State.RUNNING)
            send(servers, topic, orders(500))
            sent += 500
            ticking(lambda: builder() is None)
            send(servers, topic, orders(100))
            sent += 100
            ticking(lambda: reader.wrong or (reader.most == sent and reader.reads > 50))
            ticking(lambda: all(each.behind == 0 for each in yard.jobs.figures(yard.jobs.show("shop"))))
        assert reader.wrong == []
        assert reader.builds == ["old", "new"]
        job = yard.jobs.show("shop")
        assert (job.state, job.version) == (State.RUNNING, 2)
        yard.jobs.stop("shop", "stop")
        yard.tick_until("shop", State.STOPPED, PATIENCE)
        lines = [line for file in (tmp_path / "copies").glob("*.json") for line in file.read_text().splitlines()]
        assert len(lines) == sent, "the sink went on where it was, once"
        assert "Traceback" not in "\n".join(yard.jobs.log(job))
    finally:
        for job in yard.jobs.store.all():
            yard.hands.kill(job)
