"""What another job has, under its name: which names of a text are others', and what a query may do with them."""

import pytest

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.errors import PlanError, Source
from headrace.language import parse
from headrace.language.outside import outside_names
from headrace.plan.application import check_runnable
from headrace.plan.keys import key_of
from headrace.plan.steps import Kind

COLUMNS = (("card", "BIGINT"), ("total", "DECIMAL(20, 2)"), ("at", "TIMESTAMP"), ("odd", ""))
VIEW = Import("fraud", "Totals", "view", 1, COLUMNS, ("card",), place={"store": "sqlite", "path": "/views.sqlite"})
BAG = Import("fraud", "seen", "view", 1, COLUMNS, place={"store": "redis", "url": "redis://h/0"})
STREAM = Import(
    "card-fraud",
    "alerts",
    "sink",
    1,
    COLUMNS[:1],
    statement="CREATE STREAM alerts (card BIGINT) WITH (connector = 'files', path = 'in')",
    directory="/applications",
)


def application(text: str) -> Application:
    return Application().reading([VIEW, BAG, STREAM]).sql(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM a.b", ["a.b"]),
        ("SELECT * FROM `my-job`.b x JOIN A.B ON true", ["my-job.b", "A.B"]),
        ("SELECT * FROM a.b UNION ALL SELECT * FROM a.B", ["a.b"]),
        ("WITH w AS (SELECT * FROM a.b) SELECT * FROM w WHERE x IN (SELECT y FROM c.d)", ["a.b", "c.d"]),
        ("SELECT 1 AS one FROM TUMBLE(a.b, at, INTERVAL 1 MINUTE) GROUP BY window_end", ["a.b"]),
        ("SELECT * FROM a.b.dead", ["a.b"]),
        ("EXPLAIN SELECT * FROM a.b", ["a.b"]),
        ("DESCRIBE a.b", ["a.b"]),
        ("CREATE STREAM s (x INT) WITH (connector = 'memory'); SELECT * FROM s.dead; SELECT * FROM s", []),
        ("CREATE VIEW v AS SELECT s.x FROM a.b s; SELECT v.x FROM v", ["a.b"]),
        ("INSERT INTO k SELECT * FROM a.b", ["a.b"]),
    ],
)
def test_names_of_others(text: str, names: list[str]) -> None:
    source = Source("a.sql", text)
    found = outside_names(parse(source), source)
    assert [f"{each.job}.{each.relation}" for each in found] == names
    for each in found:
        assert each.span.text.lower().replace("`", "").startswith(f"{each.job}.{each.relation}".lower())


def test_a_view_is_a_table_that_changes() -> None:
    app = application("CREATE MATERIALIZED VIEW v AS SELECT card, sum(total) AS t FROM fraud.totals GROUP BY card")
    lines = [line.strip() for line in app.explain("v").splitlines()]
    place = lines.index("-> read view fraud.Totals")
    assert lines[place + 1] == "its changes are followed"
    assert app.plan.outputs[0].key == ("card",)
    whole = application("SELECT * FROM fraud.totals").plan.outputs[0].relation
    assert (whole.kind, key_of(whole), whole.names) == (Kind.CHANGELOG, ("card",), ("card", "total", "at", "odd"))
    bag = application("SELECT card FROM fraud.seen").plan.outputs[0].relation
    assert (bag.kind, key_of(bag)) == (Kind.CHANGELOG, ())


def test_where_rows_must_not_change_a_view_is_looked_up() -> None:
    app = application("""
        CREATE STREAM s (card BIGINT) WITH (connector = 'memory');
        CREATE SINK k WITH (connector = 'files', path = 'out', format = 'json')
          AS SELECT s.card, t.total FROM s JOIN fraud.totals t ON t.card = s.card;
    """)
    assert "looked up as it stands with each batch" in app.explain("k")
    with pytest.raises(PlanError, match="a window over rows that change"):
        application("SELECT count(*) AS n FROM TUMBLE(fraud.totals, at, INTERVAL 1 MINUTE) GROUP BY window_end")


def test_a_stream_keeps_its_place_and_its_companion() -> None:
    app = application("SELECT * FROM `card-fraud`.alerts; SELECT * FROM `card-fraud`.alerts.dead")
    assert app.plan.streams["card-fraud.alerts"].options.path == "/applications/in"
    assert [output.relation.names for output in app.plan.outputs] == [("card",), ("raw", "reason", "position")]


def test_mistakes_and_statements_about_others() -> None:
    with pytest.raises(PlanError) as told:
        application("SELECT * FROM fraud.totals WHERE totl > 1")
    assert (told.value.message, told.value.hint) == ('unknown column "totl"', 'Did you mean "total"?')
    with pytest.raises(PlanError, match=r'unknown stream "card-fraud\.alerts"'):
        application("DROP STREAM `card-fraud`.alerts")
    shown = application("SHOW TABLES; DESCRIBE fraud.totals").plan.answers
    assert shown[0].rows == ()
    assert shown[1].rows[0] == ("card", "BIGINT", "")


def test_without_a_server_there_are_no_others() -> None:
    with pytest.raises(PlanError) as told:
        check_runnable(Application().sql("SELECT * FROM fraud.totals").plan)
    assert told.value.message == 'unknown table or stream "fraud.totals"'
    assert "only a server knows its jobs" in (told.value.detail or "")
    assert told.value.span is not None and told.value.span.text == "fraud.totals"
