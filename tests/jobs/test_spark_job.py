"""One real job from beginning to end: Spark, files in, a materialised view out, and a driver that is killed."""

import os
import signal
from pathlib import Path

import pytest

from headrace.jobs.hands import DRIVER
from headrace.jobs.states import State
from headrace.views.reading import View
from headrace.views.sqlite import SqliteViewStore
from support.homes import own_home
from support.waiting import until

pytestmark = pytest.mark.spark

TEXT = """
CREATE STREAM orders (customer STRING, amount INT) WITH (connector = 'files', path = 'in');
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW sizes AS SELECT customer, count(*) AS orders FROM orders GROUP BY customer;
"""
PATIENCE = 480


@pytest.fixture
def incoming(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def arrive(incoming: Path, number: int, amount: int) -> None:
    (incoming / f".{number}").write_text(f'{{"customer": "ann", "amount": {amount}}}\n')
    (incoming / f".{number}").rename(incoming / f"{number}.json")


def total(yard, column: str = "total", view: str = "totals") -> int | None:
    job = yard.jobs.show("shop")
    store = SqliteViewStore(yard.jobs.folder_of(job).state_path / "shop" / "views.sqlite", read_only=True)
    try:
        if not store.made() or view not in {each.name for each in store.views()}:
            return None
        rows = list(View(store, view).rows())
    finally:
        store.close()
    return rows[0][column] if rows else None


def until_total(yard, wanted: int) -> None:
    def there() -> bool:
        yard.server.tick()
        return total(yard) == wanted

    until(there, PATIENCE)


def test_a_job_lives_through_everything(yard, tmp_path, incoming):
    yard.command, yard.environment = DRIVER, own_home(tmp_path)
    yard.new_server()
    arrive(incoming, 1, 10)
    yard.jobs.submit("submit-1", name="shop", text=TEXT, directory=tmp_path, memory=800)
    try:
        job = yard.tick_until("shop", State.RUNNING, PATIENCE)
        until_total(yard, 10)
        until(lambda: any(each.rows_in == 1 for each in yard.jobs.figures(job)), PATIENCE)

        os.kill(yard.pid("shop"), signal.SIGKILL)  # the driver alone: its Java is an orphan now
        arrive(incoming, 2, 5)
        yard.tick_until("shop", State.RESTARTING, PATIENCE)
        yard.time.move(seconds=1)
        job = yard.tick_until("shop", State.RUNNING, PATIENCE)
        assert job.attempt == 2
        until_total(yard, 15)
        assert total(yard, "orders", "sizes") == 2

        yard.jobs.stop("shop", "stop-1", with_savepoint=True)
        job = yard.tick_until("shop", State.STOPPED, PATIENCE)
        assert job.error is None or job.error.message == "the driver ended without a word", yard.jobs.log(job)
        (savepoint,) = yard.jobs.savepoints("shop")
        assert savepoint.status == "ready"

        arrive(incoming, 3, 100)
        yard.jobs.restart("shop", "restart-1")
        yard.tick_until("shop", State.RUNNING, PATIENCE)
        until_total(yard, 115)

        (incoming / "3.json").unlink()  # as if it had never come
        yard.jobs.restart("shop", "restart-2", savepoint=savepoint.id)
        yard.tick_until("shop", State.STOPPING, PATIENCE)
        yard.tick_until("shop", State.RUNNING, PATIENCE)
        arrive(incoming, 4, 1)
        until_total(yard, 16)

        upgraded = TEXT.replace("sum(amount)", "max(amount)")
        fates = {change.output: str(change.fate) for change in yard.jobs.upgrade_report("shop", text=upgraded)}
        assert fates == {"totals": "rebuilt", "sizes": "rebuilt"}
        yard.jobs.upgrade("shop", "upgrade-1", text=upgraded)
        yard.tick_until("shop", State.STOPPING, PATIENCE)
        job = yard.tick_until("shop", State.RUNNING, PATIENCE)
        until_total(yard, 10)
        assert job.version == 2
        yard.jobs.stop("shop", "stop-2")
        yard.tick_until("shop", State.STOPPED, PATIENCE)
        said = "\n".join(yard.jobs.log(job))
        assert "Traceback" not in said, said
    finally:
        job = yard.jobs.show("shop")
        yard.hands.kill(job)
