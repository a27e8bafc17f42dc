"""Keyed tables of topics: what is written into them changes views and topics that depend on them."""

import json

import pytest

from support.topics import new_topic, read, send

pytestmark = pytest.mark.spark


def last_values(servers: str, topic: str) -> dict[str, dict[str, object] | None]:
    """Return the last value of each key."""
    found: dict[str, dict[str, object] | None] = {}
    for message in read(servers, topic):
        value = message.value()
        found[message.key().decode()] = None if value is None else json.loads(value)
    return found


def test_views_and_upsert_topics_follow_the_tables_of_topics(application, servers):
    orders, customers, out = (new_topic(servers, name) for name in ("orders", "customers", "out"))
    for customer, region in ((1, "north"), (2, "south")):
        send(servers, customers, [{"id": customer, "region": region}], key=str(customer))
    for order, customer, amount in ((10, 1, 5), (11, 1, 7), (12, 2, 1)):
        send(servers, orders, [{"id": order, "customer": customer, "amount": amount}], key=str(order))
    app = application(f"""
        SET shuffle_partitions = 1;
        CREATE TABLE orders (id BIGINT, customer BIGINT, amount BIGINT, PRIMARY KEY (id))
          WITH (KAFKA, topic = '{orders}');
        CREATE TABLE customers (id BIGINT, region STRING, PRIMARY KEY (id)) WITH (KAFKA, topic = '{customers}');
        CREATE MATERIALIZED VIEW regions AS
          SELECT c.region, count(*) AS orders, sum(o.amount) AS amount
          FROM orders o JOIN customers c ON c.id = o.customer GROUP BY c.region;
        CREATE SINK published WITH (KAFKA, topic = '{out}', format = 'upsert') AS SELECT * FROM regions;
    """)
    app.start()
    try:
        app.process_available()
        assert app.view("regions").get("north") == {"region": "north", "orders": 2, "amount": 12}
        assert app.view("regions").reflects().positions.keys() == {"orders", "customers"}
        send(servers, customers, [{"id": 1, "region": "south"}], key="1")
        send(servers, orders, [None], key="11")
        app.process_available()
        assert app.rows("regions") == [{"region": "south", "orders": 2, "amount": 6}]
    finally:
        app.stop()
    published = last_values(servers, out)
    assert [row for row in published.values() if row is not None] == [{"region": "south", "orders": 2, "amount": 6}]
    assert len(published) == 2, "the region that is gone is withdrawn"
