"""Every statement parses to the value it means, and its formatted text parses to the same value."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlglot import exp

from headrace.errors import Source
from headrace.language import format_application, format_statement, parse
from headrace.language.statements import (
    CreateFunction,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Emit,
    Explain,
    InsertInto,
    SelectRows,
    SetOption,
    Show,
)

STATEMENTS = Path(__file__).with_name("statements.txt").read_text(encoding="utf-8").splitlines()


def one(text: str):
    (statement,) = parse(Source("app.sql", text))
    return statement


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_formatted_statement_parses_to_the_same_statement(text):
    statement = one(text)
    formatted = format_statement(statement)
    assert one(formatted) == statement
    assert format_statement(one(formatted)) == formatted


def test_an_application_is_formatted_and_parsed_back():
    application = parse(Source("app.sql", ";\n".join(STATEMENTS)))
    assert len(application) == len(STATEMENTS)
    assert parse(Source("app.sql", format_application(application))) == application


@pytest.mark.parametrize("text", ["", "  \n", "-- nothing", "/* nothing */ ;", ";;;\n;"])
def test_a_text_without_statements_is_empty(text):
    assert parse(Source("app.sql", text)) == ()


def test_create_stream():
    stream = one(
        "CREATE STREAM IF NOT EXISTS bids (a BIGINT NOT NULL, b AS a + 1, at TIMESTAMP COMMENT 'when',\n"
        "WATERMARK FOR at AS at - INTERVAL 4 SECONDS IDLE AFTER INTERVAL 30 SECONDS, PRIMARY KEY (a))\n"
        "WITH (connector = 'kafka', 'max.rows' = 10, ratio = .5, fast = true)"
    )
    assert isinstance(stream, CreateStream)
    assert stream.name.text == "bids"
    assert stream.if_not_exists
    a, b, at = stream.columns
    assert (a.name, a.nullable, a.computed) == ("a", False, None)
    assert a.type == exp.DataType.build("BIGINT")
    assert (b.name, b.type, b.computed.sql()) == ("b", None, "a + 1")
    assert at.comment == "when"
    assert at.span.text == "at TIMESTAMP COMMENT 'when'"
    assert stream.watermark.column == "at"
    assert stream.watermark.delay == timedelta(seconds=4)
    assert stream.watermark.idle_after == timedelta(seconds=30)
    assert stream.watermark.span.text.startswith("WATERMARK FOR")
    assert stream.primary_key == ("a",)
    assert {option.name: option.value for option in stream.options} == {
        "connector": "kafka",
        "max.rows": 10,
        "ratio": 0.5,
        "fast": True,
    }
    assert stream.options[0].span.text == "connector"
    assert stream.options[0].value_span.text == "'kafka'"
    assert stream.span.text.endswith("fast = true)")


def test_a_watermark_without_delay_has_none():
    watermark = one("CREATE STREAM s (at TIMESTAMP, WATERMARK FOR at AS at)").watermark
    assert (watermark.delay, watermark.idle_after) == (timedelta(0), None)


def test_create_table_with_a_key_beside_the_column():
    table = one("CREATE TABLE t (id BIGINT PRIMARY KEY, v STRING)")
    assert isinstance(table, CreateTable)
    assert table.primary_key == ("id",)


def test_create_view_and_sink():
    view = one("CREATE MATERIALIZED VIEW v (x) WITH (store = 'redis') AS SELECT a FROM t EMIT CHANGES")
    assert isinstance(view, CreateView)
    assert (view.materialized, view.columns, view.query.emit) == (True, ("x",), Emit.CHANGES)
    sink = one("CREATE SINK k AS SELECT a FROM t EMIT ON WINDOW CLOSE WITH (connector = 'kafka')")
    assert isinstance(sink, CreateSink)
    assert sink.query.emit is Emit.ON_WINDOW_CLOSE
    assert sink.query.span.text == "SELECT a FROM t EMIT ON WINDOW CLOSE"
    assert [option.name for option in sink.options] == ["connector"]


def test_emit_may_still_be_a_name():
    rows = one("SELECT emit FROM t WHERE emit > 1 EMIT CHANGES")
    assert rows.query.emit is Emit.CHANGES
    assert rows.query.tree.sql() == "SELECT emit FROM t WHERE emit > 1"
    assert one("SELECT t.emit, emit FROM t").query.emit is None


def test_create_function():
    function = one("CREATE FUNCTION score(a DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'models:score'")
    assert isinstance(function, CreateFunction)
    assert (function.body, function.body_span.text) == ("models:score", "'models:score'")
    assert [parameter.name for parameter in function.parameters] == ["a"]


def test_the_other_statements():
    insert = one("INSERT INTO k (a) SELECT 1")
    assert isinstance(insert, InsertInto)
    assert (insert.target.text, insert.columns) == ("k", ("a",))
    assert one("SET a.b = word") == one("SET a.b = 'word'")
    assert isinstance(one("SET a = 1"), SetOption)
    assert isinstance(one("EXPLAIN SELECT 1"), Explain)
    assert isinstance(one("EXPLAIN SELECT 1").statement, SelectRows)
    assert one("SHOW MATERIALIZED VIEWS").kind == "MATERIALIZED VIEWS"
    assert isinstance(one("SHOW SINKS"), Show)
    described = one("DESCRIBE clicks.late")
    assert isinstance(described, Describe)
    assert (described.name.text, described.name.span.text) == ("clicks.late", "clicks.late")
    drop = one("DROP MATERIALIZED VIEW IF EXISTS v")
    assert isinstance(drop, Drop)
    assert (drop.kind, drop.if_exists, drop.name.text) == ("MATERIALIZED VIEW", True, "v")


def test_spans_do_not_take_part_in_comparison():
    assert one("SELECT   a FROM t") == one("-- another place\nSELECT a FROM t")


def test_names_that_need_quotes_are_quoted():
    text = format_statement(one("CREATE STREAM `a``b` (`select` INT, `x y` STRING, plain INT)"))
    assert text == "CREATE STREAM `a``b` (\n  `select` INT,\n  `x y` STRING,\n  plain INT\n)"


def test_fifty_statements_parse_quickly():
    program = (
        "import time; start = time.process_time()\n"
        "from headrace.errors import Source\nfrom headrace.language import parse\n"
        "text = 'CREATE VIEW v AS SELECT a, count(*) FROM TUMBLE(t, at, INTERVAL 1 HOUR) GROUP BY a;' * 50\n"
        "assert len(parse(Source('a', text))) == 50\n"
        "print(time.process_time() - start)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 5  # of the processor, however many share it; it takes 0.2 s
