"""What of Kafka is settled before anything runs: options, metadata, real-time mode, secrets. No broker, no JVM."""

import pytest

from headrace import Application
from headrace.connectors.kafka.client import client_properties, masked
from headrace.connectors.kafka.options import KafkaSink, KafkaSource
from headrace.errors import HeadraceError
from headrace.plan.splitting import Split, split_of

STREAM = """
CREATE STREAM s (k STRING, n BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 SECOND)
  WITH (connector = 'kafka', topic = 'in');
"""
REAL_TIME = "SET latency = 'real-time';"
SINK = "CREATE SINK o WITH (connector = 'kafka', topic = 'out'{more}) AS "


def refused(text: str) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        Application().sql(text)
    return raised.value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "a Kafka stream needs a topic"),
        ("topic = 'a', topic_pattern = 'b'", "topic and topic_pattern do not go together"),
        ("topic_pattern = '('", "topic_pattern is not a regular expression"),
        ("topic = 'a', start = 'soon'", "option start cannot be 'soon'"),
        ("topic = 'a', start = '0:1, 0:2'", "option start names a partition twice"),
        ("topic = 'a, b', start = '0:1'", "offsets to start at need exactly one topic"),
        ("topic = 'a', format = 'avro'", "format avro needs schema_registry or avro_schema"),
        ("topic = 'a', format = 'upsert'", "format upsert needs to know the key"),
        ("topic = 'a', format = 'upsert', key = 'y'", 'option key names an unknown column "y"'),
        ("topic = 'a', format = 'xml'", "option \"format\" cannot be 'xml'"),
        ("topic = 'a', kafka.group.id = 'g'", 'property "kafka.group.id" cannot be set'),
        ("topic = 'a', kafka.acks = '1'", 'property "kafka.acks" cannot be set'),
        ("topic = 'a', security_protocol = 'sasl_ssl'", "needs sasl_username and a password"),
        ("topic = 'a', sasl_username = 'u'", 'option "sasl_username" does not go with'),
        ("topic = 'a', topik = 'b'", 'unknown option "topik"'),
    ],
)
def test_options_of_a_stream_that_are_refused(options, message):
    error = refused(f"CREATE STREAM s (x INT) WITH (connector = 'kafka'{', ' if options else ''}{options})")
    assert message in error.message
    assert error.span is not None


@pytest.mark.parametrize(
    ("options", "query", "message"),
    [
        ("", "SELECT k FROM s", "a Kafka sink needs a topic"),
        ("topic = 'a', topic_column = 'k'", "SELECT k, n FROM s", "topic and topic_column do not go together"),
        ("topic_column = 'q'", "SELECT k, n FROM s", 'option topic_column names an unknown column "q"'),
        ("topic_column = 'k'", "SELECT k FROM s", "no column is left for the message"),
        ("topic = 'a', key = 'kk'", "SELECT k FROM s", 'option key names an unknown column "kk"'),
        ("topic = 'a', format = 'text'", "SELECT k, n FROM s", "format text takes exactly one column"),
        ("topic = 'a', format = 'raw'", "SELECT k FROM s", 'column "k" of type STRING does not fit format raw'),
        ("topic = 'a', format = 'avro'", "SELECT k FROM s", "a sink of format avro needs a schema registry"),
        ("topic = 'a', format = 'upsert'", "SELECT k FROM s", "format upsert needs a key"),
        ("topic = 'a'", "SELECT k, count(*) AS n FROM s GROUP BY k", "format json takes only rows that do not change"),
        ("topic = 'a', guarantee = 'twice'", "SELECT k FROM s", "cannot be 'twice'"),
    ],
)
def test_options_of_a_sink_that_are_refused(options, query, message):
    comma = ", " if options else ""
    error = refused(f"{STREAM} CREATE SINK o WITH (connector = 'kafka'{comma}{options}) AS {query};")
    assert message in error.message
    assert error.span is not None


def test_metadata_is_of_kafka_alone():
    error = refused("CREATE STREAM s (x INT, o BIGINT AS kafka_offset()) WITH (connector = 'memory')")
    assert error.message == "kafka_offset() is known of Kafka messages alone"
    error = refused("CREATE STREAM s (x INT, c STRING AS change_kind()) WITH (connector = 'kafka', topic = 't')")
    assert error.message == "format json does not say what changed"
    app = Application().sql(
        "CREATE STREAM s (x INT, o AS kafka_offset(), k AS CAST(kafka_key() AS STRING)) "
        "WITH (connector = 'kafka', topic = 't')"
    )
    assert [field.type.sql("spark") for field in app.plan.relation("s").fields] == ["INT", "BIGINT", "STRING"]


@pytest.mark.parametrize(
    ("query", "more", "reason"),
    [
        ("SELECT k, n + 1 AS n FROM s WHERE n > 0", "", None),
        ("SELECT k, part FROM s LATERAL VIEW explode(split(k, '')) AS part", "", None),
        ("SELECT k FROM s UNION ALL SELECT k FROM s", "", None),
        ("SELECT k, count(*) AS n FROM s GROUP BY k", ", format = 'upsert'", None),
        ("SELECT s.k, t.v FROM s JOIN t ON t.k = s.k", "", None),
        (
            "SELECT k, window_start, count(*) AS n FROM TUMBLE(s, at, INTERVAL 1 MINUTE) GROUP BY k, window_start "
            "EMIT CHANGES",
            ", format = 'upsert'",
            None,
        ),
        (
            "SELECT k, window_start, count(*) AS n FROM TUMBLE(s, at, INTERVAL 1 MINUTE) GROUP BY k, window_start",
            "",
            "it waits for windows to close",
        ),
        (
            "SELECT k, window_start, count(*) AS n FROM SESSION(s, at, INTERVAL 1 MINUTE) GROUP BY k, window_start",
            "",
            "it waits for windows to close",
        ),
        (
            "SELECT a.k FROM s a JOIN s b ON a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL 1 MINUTE",
            "",
            "two streams are joined",
        ),
        ("SELECT double(n) AS n FROM s", "", "function double is in Python"),
        ("SELECT k FROM other", "", "stream other comes from memory"),
        ("SELECT k FROM idle", "", "stream idle has IDLE AFTER"),
        ("SELECT k FROM clock", "", "stream clock has proctime()"),
        ("SELECT k FROM s", ", guarantee = 'exactly-once'", "it cannot promise exactly-once"),
        ("SELECT k FROM s", ", format = 'avro', schema_registry = 'http://h'", "format avro is written by a Python"),
    ],
)
def test_which_step_forbids_real_time_mode(query, more, reason):
    app = Application()
    app.function("double", lambda n: 2 * n, "BIGINT", ["BIGINT"])
    text = f"""{STREAM}
        CREATE TABLE t (k STRING, v STRING, PRIMARY KEY (k)) WITH (connector = 'memory');
        CREATE STREAM other (k STRING) WITH (connector = 'memory');
        CREATE STREAM idle (k STRING, at TIMESTAMP, WATERMARK FOR at AS at IDLE AFTER INTERVAL 1 SECOND)
          WITH (connector = 'kafka', topic = 'in');
        CREATE STREAM clock (k STRING, at AS proctime()) WITH (connector = 'kafka', topic = 'in');
        {REAL_TIME} {SINK.format(more=more)} {query};
    """
    if reason is None:
        assert (
            "real-time, at-least-once: a crash repeats what was published in up to 5 minutes" in app.sql(text).explain()
        )
        return
    with pytest.raises(HeadraceError) as raised:
        app.sql(text)
    assert f'"o" cannot run in real-time mode: {reason}' in raised.value.message
    assert raised.value.detail


@pytest.mark.parametrize(
    "output",
    [
        "SELECT k FROM s",
        "CREATE MATERIALIZED VIEW v AS SELECT k FROM s",
        "CREATE SINK f WITH (connector = 'files', path = 'x') AS SELECT k FROM s",
    ],
)
def test_real_time_mode_is_for_kafka_sinks(output):
    assert "is written batch by batch" in refused(f"{REAL_TIME} {STREAM} {output};").message


def test_one_sink_may_be_in_real_time_mode():
    alone = SINK.format(more=", latency = 'real-time'")
    app = Application().sql(f"{STREAM} {alone} SELECT k FROM s; SELECT n FROM s;")
    assert "real-time, at-least-once" in app.explain()
    app = Application().sql(f"{STREAM} {SINK.format(more='')} SELECT k FROM s;")
    assert "to kafka topic out (json), exactly-once" in app.explain()


def test_what_cuts_the_rows_of_a_batch():
    app = Application().sql(f"""{STREAM}
        CREATE STREAM f (k STRING) WITH (connector = 'files', path = 'in');
        CREATE TABLE t (k STRING, PRIMARY KEY (k)) WITH (connector = 'memory');
        CREATE VIEW plain AS SELECT k FROM s WHERE n > 1;
        CREATE VIEW united AS SELECT k FROM s UNION ALL SELECT k FROM s;
        CREATE VIEW mixed AS SELECT k FROM s UNION ALL SELECT k FROM f;
        CREATE VIEW files AS SELECT k FROM f;
        CREATE VIEW joined AS SELECT s.k FROM s JOIN t ON t.k = s.k;
        CREATE VIEW counted AS SELECT k, window_start, count(*) AS n
          FROM TUMBLE(s, at, INTERVAL 1 MINUTE) GROUP BY k, window_start;
    """)
    found = {name: split_of(relation.step) for name, relation in app.plan.views.items()}
    assert found == {
        "plain": Split.TOPIC,
        "united": Split.TOPIC,
        "mixed": Split.CHANCE,
        "files": Split.CHANCE,
        "joined": Split.CHANCE,
        "counted": Split.KEY,
    }


def test_secrets_reach_the_client_and_nobody_else(tmp_path):
    (tmp_path / "secret").write_text('from "file"\n')
    source = KafkaSource(
        topic=("t",),
        bootstrap_servers="h:1",
        security_protocol="sasl_ssl",
        sasl_mechanism="scram-sha-512",
        sasl_username="ann",
        sasl_password_file="secret",
        ssl_ca="ca.pem",
        properties={"kafka.client.id": "me", "kafka.ssl.key.password": "hush"},
    )
    properties = client_properties(source, tmp_path)
    assert properties == {
        "bootstrap.servers": "h:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="ann" password="from \\"file\\"";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "client.id": "me",
        "ssl.key.password": "hush",
    }
    assert "hush" not in str(masked(properties))
    assert "file" not in str(masked(properties)["sasl.jaas.config"])
    sink = KafkaSink(topic="t", sasl_password="hush", properties={"kafka.sasl.jaas.config": "hush"})
    assert "hush" not in repr(sink)


@pytest.mark.parametrize("wrong", ["format = 'xml'", "kafka.acks = '0'", "sasl_pasword = 'hush2'"])
def test_no_error_shows_a_secret(wrong):
    error = refused(
        "CREATE STREAM s (x INT) WITH (connector = 'kafka', topic = 't', security_protocol = 'sasl_ssl', "
        f"sasl_username = 'u', sasl_password = 'hush', kafka.ssl.key.password = 'hush3', {wrong})"
    )
    assert "hush" not in error.report()


def test_without_a_broker_the_error_says_how_to_start_one(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    with pytest.raises(HeadraceError, match="no Kafka broker is named") as raised:
        client_properties(KafkaSource(topic=("t",)), tmp_path)
    assert "headrace broker start" in raised.value.hint
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "kafka:9092")
    assert client_properties(KafkaSource(topic=("t",)), tmp_path) == {"bootstrap.servers": "kafka:9092"}


def test_rows_that_change_do_not_meet_a_topic_that_is_looked_up():
    error = refused("""
        CREATE TABLE a (k STRING, n INT, PRIMARY KEY (k)) WITH (connector = 'memory');
        CREATE TABLE names (k STRING, name STRING, PRIMARY KEY (k))
          WITH (connector = 'kafka', topic = 'names', format = 'upsert', refresh = 'never');
        CREATE MATERIALIZED VIEW v AS SELECT a.k, a.n, names.name FROM a JOIN names ON names.k = a.k;
    """)
    assert error.message == 'rows that change meet table "names", which is read anew'
    assert "read for each batch" in str(error.detail)
    assert error.hint == "Leave refresh out: the table then changes the answer itself."
