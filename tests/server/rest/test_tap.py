"""A look into a topic or files beside the job that reads them."""

import json
from pathlib import Path

from confluent_kafka import Producer

from headrace.broker.server import Broker
from headrace.broker.topics import create
from support.rest_server import RestServer, Visitor


def test_the_last_messages_of_a_topic(server: RestServer, developer: Visitor, viewer, broker: Broker) -> None:
    address = broker.running_address()
    assert address is not None
    create(address, "tapped-orders", 2, {})
    producer = Producer({"bootstrap.servers": address})
    for number in range(30):
        producer.produce("tapped-orders", json.dumps({"id": number}), key=str(number), partition=number % 2)
    producer.produce("tapped-orders", b"not json", partition=0)
    assert producer.flush(240) == 0
    text = f"""
    CREATE STREAM orders (id INT) WITH (
      connector = 'kafka', topic = 'tapped-orders', format = 'json', bootstrap_servers = '{address}');
    CREATE MATERIALIZED VIEW big AS SELECT id FROM orders WHERE id > 3;
    """
    server.submit(developer, text=text)
    items = viewer.get("/catalog/orders/recent", params={"limit": 10}).json()["items"]
    assert len(items) == 10
    assert "not json" in [each["text"] for each in items]
    assert {"id": 29} in [each["row"] for each in items]
    found = viewer.get("/catalog/shop.orders").json()
    assert (found["connector"], found["options"]["topic"]) == ("kafka", "tapped-orders")
    gone = (
        text.replace("tapped-orders", "no-such-topic")
        .replace("orders (", "others (")
        .replace("FROM orders", "FROM others")
    )
    server.submit(developer, "gone", text=gone)
    answer = viewer.get("/catalog/others/recent")
    assert answer.status_code == 422
    assert answer.json()["title"] == 'topic "no-such-topic" does not exist'


def test_the_last_rows_of_files_and_why_there_are_none(
    server: RestServer, developer: Visitor, viewer: Visitor, tmp_path: Path
) -> None:
    (tmp_path / "in.json").write_text('{"id": 1}\n{"id": 2}\n')
    text = f"""
    CREATE STREAM letters (id INT) WITH (connector = 'files', path = '{tmp_path}/in.json');
    CREATE STREAM made (id INT) WITH (connector = 'memory');
    CREATE MATERIALIZED VIEW big AS SELECT id FROM letters UNION ALL SELECT id FROM made;
    """
    server.submit(developer, text=text)
    items = viewer.get("/catalog/letters/recent", params={"limit": 1}).json()["items"]
    assert [(each["row"], each["position"]) for each in items] == [({"id": 2}, f"{tmp_path}/in.json:10")]
    answer = viewer.get("/catalog/made/recent").json()
    assert (answer["title"], answer["detail"]) == (
        'stream "made" cannot be tapped',
        "Its rows come from the program that runs the application.",
    )


def test_the_records_at_places_that_evidence_noted(
    server: RestServer, developer: Visitor, viewer: Visitor, admin: Visitor, broker: Broker, tmp_path: Path
) -> None:
    address = broker.running_address()
    assert address is not None
    create(address, "noted-payments", 2, {})
    producer = Producer({"bootstrap.servers": address})
    for number in range(6):
        producer.produce("noted-payments", json.dumps({"id": number, "amount": 0.10}), partition=number % 2)
    assert producer.flush(240) == 0
    (tmp_path / "in.json").write_text('{"id": 1}\n{"id": 2}\n')
    text = f"""
    CREATE STREAM payments (id INT, amount DECIMAL(9, 2)) WITH (
      connector = 'kafka', topic_pattern = 'noted-.*', format = 'json', bootstrap_servers = '{address}');
    CREATE STREAM letters (id INT) WITH (connector = 'files', path = '{tmp_path}/in.json');
    CREATE MATERIALIZED VIEW both AS SELECT id FROM payments UNION ALL SELECT id FROM letters;
    """
    server.submit(developer, text=text)
    places = ["noted-payments:1:2", f"{tmp_path}/in.json:0:2", "noted-payments:0:0", "noted-payments:0:3"]
    places += ["noted-payments:9:0", "elsewhere:0:0", f"{tmp_path}/out.json:0:1"]
    items = viewer.get("/jobs/shop/records", params={"at": places}).json()["items"]
    assert [each["place"] for each in items] == places
    assert [each["row"] for each in items[:3]] == [{"id": 5, "amount": 0.10}, {"id": 2}, {"id": 0, "amount": 0.10}]
    assert [each["stream"] for each in items] == ["payments", "letters", "payments", None, None, None, None]
    assert all(each["row"] is None and each["text"] is None for each in items[3:])
    assert viewer.get("/jobs/shop/records", params={"at": "payments"}).status_code == 422
    assert viewer.get("/jobs/none/records", params={"at": places}).status_code == 404
    deny = {"effect": "deny", "kind": "stream", "pattern": "payments", "user": "vera", "actions": ["tap"]}
    assert admin.post("/access", deny).status_code == 201
    assert viewer.get("/jobs/shop/records", params={"at": places[1]}).status_code == 200
    assert viewer.get("/jobs/shop/records", params={"at": places[0]}).status_code == 403
