"""A job on a standalone cluster of two workers, one of which is killed while rows come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.server import Broker
from headrace.jobs.hands import DRIVER
from headrace.jobs.states import State
from headrace.views.reading import View
from headrace.views.sqlite import SqliteViewStore
from support import topics
from support.cluster import Cluster, spark_cluster
from support.homes import own_home
from support.waiting import until

pytestmark = pytest.mark.spark

TEXT = """
SET shuffle_partitions = 2;
SET spark.executor.memory = '512m';
CREATE FUNCTION in_cents(amount INT) RETURNS INT LANGUAGE PYTHON AS 'money:in_cents';
CREATE STREAM orders (customer STRING, amount INT)
  WITH (connector = 'kafka', topic = '{topic}', bootstrap_servers = '{servers}', max_rows_per_batch = 40);
CREATE MATERIALIZED VIEW totals AS
  SELECT customer, sum(in_cents(amount)) AS total, count(*) AS orders FROM orders GROUP BY customer;
"""
FUNCTIONS = "def in_cents(amount):\n    return amount * 100\n"
CUSTOMERS = 7
PATIENCE = 480


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with spark_cluster(tmp_path / "cluster") as made:
        yield made


def rows(yard) -> dict[str, tuple[int, int]]:
    file = yard.jobs.folder_of(yard.jobs.show("shop")).state_path / "shop" / "views.sqlite"
    store = SqliteViewStore(file, read_only=True)
    try:
        if not store.made() or "totals" not in {each.name for each in store.views()}:
            return {}
        return {row["customer"]: (row["total"], row["orders"]) for row in View(store, "totals").rows()}
    finally:
        store.close()


def expected(count: int) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for number in range(count):
        total, orders = found.get(f"c{number % CUSTOMERS}", (0, 0))
        found[f"c{number % CUSTOMERS}"] = (total + 100 * number, orders + 1)
    return found


def test_a_worker_is_killed_and_the_view_is_right(yard, tmp_path: Path, cluster: Cluster, broker: Broker):
    servers = broker.start()
    topic = topics.new_topic(servers, "orders", 2)
    (tmp_path / "money.py").write_text(FUNCTIONS)
    sent = 0

    def send(count: int) -> None:
        nonlocal sent
        for partition in (0, 1):
            numbers = [number for number in range(sent, sent + count) if number % 2 == partition]
            orders = [{"customer": f"c{number % CUSTOMERS}", "amount": number} for number in numbers]
            topics.send(servers, topic, orders, partition=partition)
        sent += count

    def go_on() -> None:
        yard.server.tick()
        if yard.jobs.show("shop").state is State.RESTARTING:
            yard.time.move(seconds=1)

    def until_counted(least: int) -> None:
        def there() -> bool:
            go_on()
            return sum(orders for _, orders in rows(yard).values()) >= least

        until(there, PATIENCE)

    yard.command, yard.environment = DRIVER, own_home(tmp_path)
    yard.new_server()
    text = TEXT.format(topic=topic, servers=servers)
    yard.jobs.submit("submit", name="shop", text=text, directory=tmp_path, memory=600, master=cluster.master)
    try:
        send(200)
        yard.tick_until("shop", State.RUNNING, PATIENCE)
        until_counted(80)
        until(lambda: cluster.executors(0) and cluster.executors(1), PATIENCE)

        send(400)
        until_counted(240)  # a batch or two of those that have just come
        assert cluster.kill_worker(1) == 1
        send(400)
        until_counted(sent)
        assert rows(yard) == expected(sent)

        send(100)
        until_counted(sent)
        assert rows(yard) == expected(sent)
        go_on()
        job = yard.jobs.show("shop")
        assert job.state is State.RUNNING, (job.reason, yard.jobs.log(job))
        assert job.attempt == 1  # tasks went to the other worker; the driver lives through it
        assert len(cluster.executors(0)) == 1
        yard.jobs.stop("shop", "stop")
        yard.tick_until("shop", State.STOPPED, PATIENCE)
        until(lambda: not cluster.executors(0), PATIENCE)  # the master was told
    finally:
        yard.hands.kill(yard.jobs.show("shop"))
