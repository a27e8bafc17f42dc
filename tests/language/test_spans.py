"""Every piece of a tree knows its place in the whole file."""

import pytest
from sqlglot import exp

from headrace.errors import Source
from headrace.language import parse, span_of
from headrace.language.expressions import MatchDefinition, MatchMeasure, MatchRecognize, WindowTable

QUERY = (
    "SELECT /*+ BROADCAST(zzzzzzzzzzzzzz) */ count(*), sum(b.c), upper(x) AS y, 12, 'a', CAST(a AS INT),"
    " CASE WHEN a THEN 1 END, t.*, a + b * 2, INTERVAL 5 SECONDS, current_timestamp, true, null,"
    " extract(HOUR FROM a), lag(a) OVER (PARTITION BY b), (a, b), m['k'], -a FROM clicks.late AS l"
)

# a class of nodes; what the first one of it covers
PLACES = [
    (exp.Count, "count(*)"),
    (exp.Sum, "sum(b.c)"),
    (exp.Column, "b.c"),
    (exp.Anonymous, "upper(x)"),
    (exp.Alias, "upper(x) AS y"),
    (exp.Literal, "12"),
    (exp.Cast, "CAST(a AS INT)"),
    (exp.DataType, "INT"),
    (exp.Case, "CASE WHEN a THEN 1 END"),
    (exp.Add, "a + b * 2"),
    (exp.Mul, "b * 2"),
    (exp.Interval, "INTERVAL 5 SECONDS"),
    (exp.CurrentTimestamp, "current_timestamp"),
    (exp.Boolean, "true"),
    (exp.Null, "null"),
    (exp.Extract, "extract(HOUR FROM a)"),
    (exp.Window, "lag(a) OVER (PARTITION BY b)"),
    (exp.Lag, "lag(a)"),
    (exp.Tuple, "(a, b)"),
    (exp.Table, "clicks.late AS l"),
]


@pytest.mark.parametrize(("kind", "text"), PLACES)
def test_a_node_knows_its_place(kind, text):
    source = Source("app.sql", f"SHOW STREAMS; -- é\nCREATE VIEW v AS\n{QUERY};\nSELECT 1")
    tree = parse(source)[1].query.tree
    nodes = sorted(tree.find_all(kind), key=lambda node: span_of(node, source).start)
    nodes = [node for node in nodes if span_of(node, source).start > source.text.index("*/")] or nodes
    assert text in [span_of(node, source).text for node in nodes]


def test_a_query_spans_its_text():
    source = Source("app.sql", "SELECT 1;\nSELECT a FROM t WHERE b > 2")
    assert span_of(parse(source)[1].query.tree, source).text == "a FROM t WHERE b > 2"


def test_relations_know_their_places():
    text = (
        "SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL 1 MINUTE)) AS w JOIN t"
        " MATCH_RECOGNIZE (MEASURES a.x AS v PATTERN (a) DEFINE a AS a.x > 1) ON true"
    )
    source = Source("app.sql", text)
    tree = parse(source)[0].query.tree
    assert span_of(tree.find(WindowTable), source).text.startswith("TABLE(TUMBLE(")
    assert span_of(tree.find(WindowTable).time, source).text == "at"
    assert span_of(tree.find(MatchRecognize), source).text.startswith("t MATCH_RECOGNIZE (")
    assert span_of(tree.find(MatchMeasure), source).text == "a.x AS v"
    assert span_of(tree.find(MatchDefinition), source).text == "a AS a.x > 1"


def test_a_made_node_spans_the_whole_text():
    source = Source("app.sql", "SELECT 1")
    assert span_of(exp.column("a"), source).text == "SELECT 1"
