"""Messages of a real broker become rows, in every format, from every start."""

import json
import random
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from headrace.connectors.kafka.avro import encode
from headrace.errors import HeadraceError, JobFailed
from support.topics import PATIENCE, new_topic, send
from support.waiting import until

pytestmark = pytest.mark.spark


def answers(app) -> list[list[dict]]:
    return [answered.rows() for answered in app.run_once()]


def test_text_formats_and_what_does_not_parse(application, servers):
    as_json, as_csv, as_text, as_raw = (new_topic(servers, name) for name in ("json", "csv", "text", "raw"))
    send(servers, as_json, [{"id": 1, "x": 1.5}, {"id": "no"}, b"\xff\xfe\x00", None, b"", b"[1]", {"id": 2}])
    send(servers, as_csv, [b"1;1.5", b"no;2", b"3;x", None, b"2;"])
    send(servers, as_text, [b"a line", None, b""])
    send(servers, as_raw, [b"\x00\xff", None])
    app = application(f"""
        CREATE STREAM j (id BIGINT NOT NULL, x DOUBLE) WITH (KAFKA, topic = '{as_json}');
        CREATE STREAM c (id BIGINT NOT NULL, x DOUBLE)
          WITH (KAFKA, topic = '{as_csv}', format = 'csv', delimiter = ';');
        CREATE STREAM t (line STRING) WITH (KAFKA, topic = '{as_text}', format = 'text');
        CREATE STREAM r (bytes BINARY, shown STRING AS hex(bytes)) WITH (KAFKA, topic = '{as_raw}', format = 'raw');
        SELECT id, x FROM j; SELECT reason, position FROM j.dead;
        SELECT id, x FROM c; SELECT raw, position FROM c.dead;
        SELECT line FROM t; SELECT reason FROM t.dead;
        SELECT shown FROM r; SELECT reason FROM r.dead;
    """)
    json_rows, json_dead, csv_rows, csv_dead, text_rows, text_dead, raw_rows, raw_dead = answers(app)
    assert json_rows == [{"id": 1, "x": 1.5}, {"id": 2, "x": None}]
    assert {row["position"]: row["reason"] for row in json_dead} == {
        f"{as_json}/0/1": 'column "id" is not BIGINT: no',
        f"{as_json}/0/2": "not valid JSON",
        f"{as_json}/0/3": "the message has no value",
        f"{as_json}/0/4": "not valid JSON",
        f"{as_json}/0/5": "not a JSON object",
    }
    assert csv_rows == [{"id": 1, "x": 1.5}, {"id": 2, "x": None}]
    assert [row["position"] for row in csv_dead] == [f"{as_csv}/0/{offset}" for offset in (3, 2, 1)]
    assert text_rows == [{"line": ""}, {"line": "a line"}]
    assert text_dead == raw_dead == [{"reason": "the message has no value"}]
    assert raw_rows == [{"shown": "00FF"}]


def test_what_a_message_carries_beside_its_value(application, servers):
    topic = new_topic(servers, "meta", 2)
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b'{"x": 1}', key=b"k", headers={"h": b"v"}, partition=1, timestamp=1_704_067_200_123)
    producer.produce(topic, b'{"x": 2}', partition=1, timestamp=1_704_067_200_000)
    assert producer.flush(PATIENCE) == 0
    app = application(f"""
        CREATE STREAM s (x INT,
          k STRING AS CAST(kafka_key() AS STRING), h STRING AS CAST(kafka_headers()[0].value AS STRING),
          t STRING AS kafka_topic(), p INT AS kafka_partition(), o BIGINT AS kafka_offset(),
          at TIMESTAMP AS kafka_timestamp(), WATERMARK FOR at AS at) WITH (KAFKA, topic = '{topic}');
        SELECT * FROM s;
    """)
    (rows,) = answers(app)
    at = datetime(2024, 1, 1, tzinfo=UTC)
    assert rows == [
        {"x": 1, "k": "k", "h": "v", "t": topic, "p": 1, "o": 0, "at": at.replace(microsecond=123000)},
        {"x": 2, "k": None, "h": None, "t": topic, "p": 1, "o": 1, "at": at},
    ]


def test_where_a_stream_begins(application, servers):
    first, second = new_topic(servers, "start-a", 2), new_topic(servers, "start-b")
    producer = Producer({"bootstrap.servers": servers})
    for i in range(6):
        producer.produce(first, json.dumps({"x": i}), partition=i % 2, timestamp=1_704_067_200_000 + 1000 * i)
    producer.produce(second, b'{"x": 10}', timestamp=1_704_067_200_000)
    assert producer.flush(PATIENCE) == 0
    starts = {
        "both": f"topic = '{first}, {second}'",
        "pattern": f"topic_pattern = '{first[:-4]}.*'",
        "latest": f"topic = '{first}', start = 'latest'",
        "instant": f"topic = '{first}', start = '2024-01-01T00:00:03Z'",
        "offsets": f"topic = '{first}', start = '1:2'",
    }
    streams = "".join(f"CREATE STREAM {n} (x INT) WITH (KAFKA, {o}); SELECT x FROM {n};" for n, o in starts.items())
    found = [[row["x"] for row in rows] for rows in answers(application(streams))]
    assert dict(zip(starts, found, strict=True)) == {
        "both": [0, 1, 2, 3, 4, 5, 10],
        "pattern": [0, 1, 2, 3, 4, 5],
        "latest": [],
        "instant": [3, 4, 5],
        "offsets": [0, 2, 4, 5],
    }


def test_avro_with_a_registry_and_without(application, servers, schema_registry, tmp_path):
    schema = {
        "type": "record",
        "name": "bid",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
        ],
    }
    number = schema_registry.register("bids-value", schema)
    row = {"id": 1, "price": Decimal("12.30"), "at": datetime(2024, 1, 1, 0, 0, 0, 123456, tzinfo=UTC), "tags": ["a"]}
    named, plain = new_topic(servers, "avro"), new_topic(servers, "plain")
    unknown = b"\x00" + (number + 1000).to_bytes(4, "big") + b"\x02"
    send(servers, named, [encode(number, schema, row), unknown, b'{"id": 1}', None])
    send(servers, plain, [encode(None, schema, row)])
    (tmp_path / "bid.avsc").write_text(json.dumps(schema))
    columns = "id BIGINT, price DECIMAL(10, 2), at TIMESTAMP, tags ARRAY<STRING>"
    app = application(f"""
        CREATE STREAM n ({columns})
          WITH (KAFKA, topic = '{named}', format = 'avro', schema_registry = '{schema_registry.url}');
        CREATE STREAM p ({columns}) WITH (KAFKA, topic = '{plain}', format = 'avro', avro_schema = 'bid.avsc');
        SELECT * FROM n; SELECT * FROM p; SELECT reason FROM n.dead;
    """)
    from_registry, from_file, dead = answers(app)
    assert from_registry == from_file == [row]
    reasons = [each["reason"] for each in dead]
    assert len(reasons) == 3
    assert f"schema {number + 1000} is not in the registry" in reasons
    assert any("wire format" in reason for reason in reasons)


def test_topics_of_changes(application, servers):
    upserts, changes = new_topic(servers, "upserts", 2, **{"cleanup.policy": "compact"}), new_topic(servers, "changes")
    producer = Producer({"bootstrap.servers": servers})
    for key, value in (("1", {"id": 1, "n": "a"}), ("2", {"id": 2, "n": "b"}), ("1", {"id": 1, "n": "c"}), ("2", None)):
        producer.produce(upserts, None if value is None else json.dumps(value), key=key)
    assert producer.flush(PATIENCE) == 0
    row, other = {"id": 1, "n": "a"}, {"id": 2, "n": "b"}
    envelopes = [
        {"op": "r", "before": None, "after": row, "source": {"table": "t"}},
        {"schema": {}, "payload": {"op": "c", "before": None, "after": other}},
        {"op": "u", "before": row, "after": {"id": 1, "n": "c"}},
        {"op": "d", "before": other, "after": None},
        None,
        {"op": "d", "before": None, "after": None},
        {"what": 1},
        {"op": "t"},
    ]
    send(servers, changes, envelopes)
    app = application(f"""
        CREATE STREAM u (id BIGINT, n STRING, kind STRING AS change_kind())
          WITH (KAFKA, topic = '{upserts}', format = 'upsert', key = 'id');
        CREATE STREAM d (id BIGINT, n STRING, kind STRING AS change_kind())
          WITH (KAFKA, topic = '{changes}', format = 'debezium-json');
        CREATE TABLE ut (id BIGINT, n STRING, PRIMARY KEY (id)) WITH (KAFKA, topic = '{upserts}');
        CREATE TABLE dt (id BIGINT, n STRING, PRIMARY KEY (id))
          WITH (KAFKA, topic = '{changes}', format = 'debezium-json');
        SELECT * FROM u; SELECT * FROM d; SELECT * FROM ut; SELECT * FROM dt; SELECT reason FROM d.dead;
        SELECT d.kind, ut.n FROM d JOIN ut ON ut.id = d.id;
    """)
    upsert_rows, change_rows, upsert_table, change_table, dead, joined = answers(app)
    assert upsert_rows == [
        {"id": 1, "n": "a", "kind": "upsert"},
        {"id": 1, "n": "c", "kind": "upsert"},
        {"id": 2, "n": None, "kind": "delete"},
        {"id": 2, "n": "b", "kind": "upsert"},
    ]
    assert change_rows == [
        {"id": 1, "n": "a", "kind": "insert"},
        {"id": 1, "n": "c", "kind": "update"},
        {"id": 2, "n": "b", "kind": "delete"},
        {"id": 2, "n": "b", "kind": "insert"},
    ]
    assert upsert_table == change_table == [{"id": 1, "n": "c"}]
    assert len(dead) == 3
    assert joined == [{"kind": "insert", "n": "c"}, {"kind": "update", "n": "c"}]


def test_batches_are_limited_and_progress_is_told(application, servers):
    topic = new_topic(servers, "limited", 2)
    send(servers, topic, [{"x": i} for i in range(100)])
    app = application(f"""
        CREATE STREAM s (x INT) WITH (KAFKA, topic = '{topic}', max_rows_per_batch = 30, group = 'g-{topic}');
        CREATE SINK n WITH (connector = 'noop') AS SELECT x FROM s;
    """)
    app.start()
    try:
        app.process_available()
        (progress,) = app.progress()
        assert progress.rows_in == 100
        assert progress.batch == 3
        assert sum(progress.positions.values()) == 100
        assert set(progress.lag.values()) == {0}
    finally:
        app.stop()
    admin = AdminClient({"bootstrap.servers": servers})
    asked = [ConsumerGroupTopicPartitions(f"g-{topic}")]
    (answer,) = admin.list_consumer_group_offsets(asked).values()
    assert sum(each.offset for each in answer.result(PATIENCE).topic_partitions) == 100


def copying(application, servers: str, topic: str):
    """Return a running application that has copied the one message of a topic into memory."""
    send(servers, topic, [{"x": 1}])
    app = application(
        f"CREATE STREAM s (x INT) WITH (KAFKA, topic = '{topic}', \"kafka.metadata.max.age.ms\" = '500');"
        "CREATE SINK m WITH (connector = 'memory') AS SELECT x FROM s;"
    )
    return app.start().process_available()


def test_new_partitions_are_picked_up(application, servers):
    topic = new_topic(servers, "growing")
    app = copying(application, servers, topic)
    try:
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE)
        until(lambda: len(admin.list_topics(timeout=PATIENCE).topics[topic].partitions) == 3)
        send(servers, topic, [{"x": 2}], partition=2)
        until(lambda: len(app.process_available().rows("m")) == 2)  # Spark asks for partitions now and then
        assert sorted(row["x"] for row in app.rows("m")) == [1, 2]
    finally:
        app.stop()


def delete_before(servers: str, topic: str, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_records([TopicPartition(topic, 0, offset)])[TopicPartition(topic, 0)].result(PATIENCE)


@pytest.mark.parametrize("allowed", [False, True])
def test_messages_that_are_gone_before_they_are_read(application, servers, allowed):
    topic = new_topic(servers, "gone")
    send(servers, topic, [{"x": i} for i in range(10)])
    app = application(f"""
        CREATE STREAM s (x INT)
          WITH (KAFKA, topic = '{topic}', max_rows_per_batch = 5, allow_data_loss = {str(allowed).lower()});
        CREATE SINK m WITH (connector = 'memory') AS SELECT x FROM s;
    """)
    app.start()
    app.process_available()
    app.stop()
    send(servers, topic, [{"x": i} for i in range(10, 20)])
    delete_before(servers, topic, 15)
    app.start()
    try:
        if allowed:
            app.process_available()
            assert sorted(row["x"] for row in app.rows("m")) == [*range(10), *range(15, 20)]
        else:
            with pytest.raises(JobFailed) as raised:
                app.process_available()
            assert "deleted before they were read" in raised.value.message
            assert "allow_data_loss" in raised.value.hint
    finally:
        app.stop()


def test_a_megabyte_of_noise_is_dead_and_the_rest_flows_on(application, servers):
    topic = new_topic(servers, "noise", 1, **{"max.message.bytes": "2000000"})
    noise = random.Random(1).randbytes(1_000_000)
    producer = Producer({"bootstrap.servers": servers, "message.max.bytes": 2_000_000})
    for value in (b'{"x": 1}', noise, b'{"x": 2}'):
        producer.produce(topic, value)
    assert producer.flush(PATIENCE) == 0
    app = application(
        f"CREATE STREAM s (x INT) WITH (KAFKA, topic = '{topic}'); SELECT x FROM s;"
        "SELECT reason, length(raw) > 500000 AS big FROM s.dead;"
    )
    rows, dead = answers(app)
    assert rows == [{"x": 1}, {"x": 2}]
    assert dead == [{"reason": "not valid JSON", "big": True}]


def test_a_broker_or_a_topic_that_is_not_there(application, servers):
    with pytest.raises(HeadraceError) as raised:
        application(
            "CREATE STREAM s (x INT) WITH (connector = 'kafka', topic = 't', bootstrap_servers = '127.0.0.1:1'); "
            "SELECT x FROM s;"
        ).run_once()
    assert raised.value.message == "no Kafka broker answers at 127.0.0.1:1"
    topic = new_topic(servers, "orders")
    with pytest.raises(HeadraceError) as raised:
        application(f"CREATE STREAM s (x INT) WITH (KAFKA, topic = '{topic}x'); SELECT x FROM s;").run_once()
    assert raised.value.message == f'topic "{topic}x" does not exist at {servers}'
    assert raised.value.hint == f'Did you mean "{topic}"?'
    assert raised.value.span is not None


def test_a_topic_that_is_deleted_while_it_is_read(application, servers):
    topic = new_topic(servers, "deleted")
    app = copying(application, servers, topic)
    try:
        admin = AdminClient({"bootstrap.servers": servers})
        admin.delete_topics([topic])[topic].result(PATIENCE)
        with pytest.raises(JobFailed) as raised:
            for _ in range(300):
                app.process_available()
                running = app._run.streaming[0]
                running.active.awaitTermination(1)
                running.check()
        assert raised.value.message == '"m" failed: a topic does not exist any more'
        assert app.rows("m") == [{"x": 1}]
    finally:
        app.stop()
