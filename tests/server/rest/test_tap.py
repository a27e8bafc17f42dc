"""A look into a topic or files beside the job that reads them."""

import json
from pathlib import Path

from confluent_kafka import Producer

from headrace.broker.server import Broker
from headrace.broker.topics import create
from headrace.connectors.kafka.avro import encode
from headrace.connectors.kafka.options import KafkaSource
from headrace.server.services.topic_tap import NEW_TOPICS_EVERY, TopicTap
from support.registry_server import SchemaRegistry
from support.rest_server import RestServer, Visitor
from support.waiting import until

CLICK = {"type": "record", "name": "Click", "fields": [{"name": "id", "type": "int"}]}


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


def test_the_last_messages_of_all_topics_of_a_pattern(
    server: RestServer, developer: Visitor, viewer: Visitor, broker: Broker
) -> None:
    address = _filled(
        broker, {"every-a": [b'{"id": 1}'], "every-b": [b'{"id": 2}', b'{"id": 3}'], "not-every-a": [b"no"]}
    )
    text = f"""
    CREATE STREAM orders (id INT) WITH (
      connector = 'kafka', topic_pattern = 'every-.*', format = 'json', bootstrap_servers = '{address}');
    CREATE STREAM others (id INT) WITH (
      connector = 'kafka', topic_pattern = 'nothing-.*', format = 'json', bootstrap_servers = '{address}');
    CREATE MATERIALIZED VIEW big AS SELECT id FROM orders UNION ALL SELECT id FROM others;
    """
    server.submit(developer, text=text)
    items = viewer.get("/catalog/orders/recent", params={"limit": 10}).json()["items"]
    assert sorted((each["position"], each["row"]["id"]) for each in items) == [
        ("every-a:0:0", 1),
        ("every-b:0:0", 2),
        ("every-b:0:1", 3),
    ]
    [last] = viewer.get("/catalog/orders/recent", params={"limit": 1}).json()["items"]
    assert last["at"] == max(each["at"] for each in items)
    assert viewer.get("/catalog/others/recent").json()["items"] == []


def test_topics_of_a_pattern_that_are_made_later_are_followed(broker: Broker, tmp_path: Path) -> None:
    address = _filled(broker, {"later-a": [b'{"id": 1}']})
    passed = 0.0
    options = KafkaSource(topic_pattern="later-.*|__consumer.*", bootstrap_servers=address)
    tap = TopicTap(options, (), tmp_path, passed=lambda: passed)
    try:
        assert [each.row for each in tap.recent()] == [{"id": 1}]
        _filled(broker, {"later-b": [b'{"id": 2}']})
        _filled(broker, {"later-a": [b'{"id": 3}']}, make=False)
        found = []
        until(lambda: found.extend(tap.new()) or found)
        assert [each.position for each in found] == ["later-a:0:1"]
        passed = NEW_TOPICS_EVERY.total_seconds()
        until(lambda: found.extend(tap.new()) or len(found) > 1)
        assert [each.position for each in found] == ["later-a:0:1", "later-b:0:0"]
        assert tap.at("later-b", 0, 0) == found[1]
        assert tap.at("__consumer_offsets", 0, 0) is None
    finally:
        tap.close()


def test_avro_is_shown_decoded_and_what_is_no_text_in_bytes(
    server: RestServer,
    developer: Visitor,
    viewer: Visitor,
    broker: Broker,
    tmp_path: Path,
    schema_registry: SchemaRegistry,
) -> None:
    number = schema_registry.register("registered-value", CLICK)
    named = [encode(number, CLICK, {"id": 7}), b"\x00\x00\x00\x00\x63\x0e", b"{}"]
    address = _filled(
        broker,
        {"registered": named, "plain": [encode(None, CLICK, {"id": 8}), b"\x0e\xff"], "noise": [b"\x9f\x92" * 40]},
    )
    (tmp_path / "click.avsc").write_text(json.dumps(CLICK))
    kafka = f"connector = 'kafka', bootstrap_servers = '{address}'"
    text = f"""
    CREATE STREAM registered (id INT) WITH (
      {kafka}, topic = 'registered', format = 'avro', schema_registry = '{schema_registry.url}');
    CREATE STREAM plain (id INT) WITH ({kafka}, topic = 'plain', format = 'avro', avro_schema = 'click.avsc');
    CREATE STREAM noise (id INT) WITH ({kafka}, topic = 'noise', format = 'json');
    CREATE MATERIALIZED VIEW ids AS
      SELECT id FROM registered UNION ALL SELECT id FROM plain UNION ALL SELECT id FROM noise;
    """
    server.submit(developer, text=text, directory=str(tmp_path))

    def shown(stream: str) -> list[object]:
        items = viewer.get(f"/catalog/{stream}/recent").json()["items"]
        return [each["row"] if each["text"] is None else each["text"] for each in items]

    assert shown("registered") == [
        {"id": 7},
        "no Avro record, schema 99 is not in the registry; 6 bytes: 00 00 00 00 63 0e",
        "no Avro record, not in Confluent wire format: the first byte is 0x7b, not 0x00; 2 bytes: 7b 7d",
    ]
    assert shown("plain") == [
        {"id": 8},
        "no Avro record, does not fit the schema: 1 byte is left after the record; 2 bytes: 0e ff",
    ]
    assert shown("noise") == ["no text; 80 bytes: " + "9f 92 " * 16 + "…"]


def test_a_sink_of_many_topics_says_why_it_cannot_be_tapped(
    server: RestServer, developer: Visitor, viewer: Visitor
) -> None:
    text = """
    CREATE STREAM made (id INT, route STRING) WITH (connector = 'memory');
    CREATE SINK out WITH (connector = 'kafka', bootstrap_servers = 'b:1', topic_column = 'route')
      AS SELECT id, route FROM made;
    """
    server.submit(developer, text=text)
    answer = viewer.get("/catalog/out/recent")
    assert answer.status_code == 422
    assert answer.json()["detail"] == "A column names the topic of each row, so it is not known where all of them are."


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


def test_a_file_that_is_gone_is_no_matter_of_streams_that_never_read_it(
    server: RestServer, developer: Visitor, viewer: Visitor, admin: Visitor, tmp_path: Path
) -> None:
    for name in ("letters", "secrets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.json").write_text('{"id": 1}\n')
    text = f"""
    CREATE STREAM letters (id INT) WITH (connector = 'files', path = '{tmp_path}/letters');
    CREATE STREAM secrets (id INT) WITH (connector = 'files', path = '{tmp_path}/secrets/*.json');
    CREATE STREAM elsewhere (id INT) WITH (connector = 'files', path = 's3a://bucket/in');
    CREATE MATERIALIZED VIEW ids AS
      SELECT id FROM letters UNION ALL SELECT id FROM secrets UNION ALL SELECT id FROM elsewhere;
    """
    server.submit(developer, text=text)
    deny = {"effect": "deny", "kind": "stream", "pattern": "secrets", "user": "vera", "actions": ["tap"]}
    assert admin.post("/access", deny).status_code == 201
    places = [f"{tmp_path}/letters/1.json:0:1", f"{tmp_path}/letters/gone.json:0:1", f"{tmp_path}/nobodys/1.json:0:1"]
    answer = viewer.get("/jobs/shop/records", params={"at": places})
    assert answer.status_code == 200, answer.text
    assert [(each["stream"], each["row"]) for each in answer.json()["items"]] == [
        ("letters", {"id": 1}),
        (None, None),
        (None, None),
    ]
    for secret in ("1", "gone"):
        answer = viewer.get("/jobs/shop/records", params={"at": f"{tmp_path}/secrets/{secret}.json:0:1"})
        assert answer.status_code == 403


def _filled(broker: Broker, topics: dict[str, list[bytes]], *, make: bool = True) -> str:
    """Put messages into topics of one partition, made before, and return the broker's address."""
    address = broker.running_address()
    assert address is not None
    producer = Producer({"bootstrap.servers": address})
    for topic, messages in topics.items():
        if make:
            create(address, topic, 1, {})
        for each in messages:
            producer.produce(topic, each, partition=0)
    assert producer.flush(240) == 0
    return address
