"""Spark's queries and Headrace's relations parse, and their formatted text parses to the same tree."""

import copy
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp

from headrace.errors import Source
from headrace.language import format_statement, parse
from headrace.language.dialect import Headrace
from headrace.language.expressions import MatchRecognize, WindowTable
from headrace.language.functions import TYPED, function_name

QUERIES = Path(__file__).with_name("queries.txt").read_text(encoding="utf-8").splitlines()


def tree(text: str) -> exp.Expr:
    (statement,) = parse(Source("app.sql", text))
    return statement.query.tree


@pytest.mark.parametrize("text", QUERIES)
def test_the_formatted_query_parses_to_the_same_query(text):
    (statement,) = parse(Source("app.sql", text))
    formatted = format_statement(statement)
    assert parse(Source("app.sql", formatted)) == (statement,)
    assert statement.query.tree.find(exp.Command) is None


@pytest.mark.parametrize("name", sorted(TYPED))
def test_a_function_comes_out_as_it_went_in(name):
    for count in range(5):
        call = f"{name}({', '.join('abcd'[:count])})"
        try:
            parsed = sqlglot.parse_one(f"SELECT {call}", read=Headrace)
        except sqlglot.ParseError:
            continue
        assert parsed.sql(Headrace) == f"SELECT {call}"
        assert function_name(parsed.selects[0]) == name.lower()


WINDOWS = {
    "TUMBLE(bids, at, INTERVAL 10 SECONDS)": [
        "TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' SECONDS)",
        "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(at), INTERVAL '10' SECONDS))",
        "tumble(DATA => TABLE bids, TIMECOL => DESCRIPTOR(at), SIZE => INTERVAL 10 SECONDS)",
        "tumble(size => INTERVAL 10 SECONDS, timecol => at, data => bids)",
        "TUMBLE(bids, at, SIZE => INTERVAL 10 SECONDS)",
    ],
    "HOP(bids, at, INTERVAL 1 SECOND, INTERVAL 10 SECONDS, INTERVAL 2 SECONDS)": [
        "HOP(TABLE bids, DESCRIPTOR(at), SIZE => INTERVAL 10 SECONDS, SLIDE => INTERVAL 1 SECOND,"
        " OFFSET => INTERVAL 2 SECONDS)",
    ],
    "SESSION(t PARTITION BY k, ts, INTERVAL 1 MINUTE)": [
        "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' MINUTE)",
        "SESSION(DATA => TABLE t PARTITION BY (k), TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '1 MINUTE')",
    ],
    "CUMULATE(t, ts, INTERVAL 1 MINUTE, INTERVAL 1 HOUR)": [
        "CUMULATE(TABLE t, DESCRIPTOR(ts), STEP => INTERVAL 1 MINUTE, SIZE => INTERVAL 1 HOUR)",
    ],
    "COUNT_SLIDE(t, ts, 5)": ["COUNT_SLIDE(TABLE t, DESCRIPTOR(ts), ROWS => 5)"],
    "COUNT_SLIDE(t, 2, 5)": ["COUNT_SLIDE(t, ROWS => 5, SLIDE => 2)"],
    "PUNCTUATE(t, ended)": ["PUNCTUATE(TABLE t, CONDITION => ended)"],
}


@pytest.mark.parametrize(("short", "long"), [(short, long) for short in WINDOWS for long in WINDOWS[short]])
def test_every_form_of_a_window_table_gives_the_same_node(short, long):
    assert tree(f"SELECT * FROM {short} AS w") == tree(f"SELECT * FROM {long} w")


def test_a_window_table_says_what_it_holds():
    call = "HOP(bids PARTITION BY k, at, INTERVAL 1 SECOND, INTERVAL 2 SECONDS)"
    window = tree(f"SELECT * FROM a JOIN {call} AS h ON true").find(WindowTable)
    assert (window.kind, window.alias, window.alias_or_name, window.name) == ("HOP", "h", "h", "bids")
    assert window.time.name == "at"
    assert [parameter.sql() for parameter in window.parameters] == [
        "INTERVAL '1' SECOND",
        "INTERVAL '2' SECONDS",
    ]
    assert [key.name for key in window.partition_by] == ["k"]
    assert isinstance(window.parent, exp.Join)
    assert tree("SELECT * FROM TUMBLE(bids, at, INTERVAL 1 SECOND)").find(WindowTable).alias_or_name == "bids"


def test_optional_times_are_told_from_parameters():
    def window(call):
        return tree(f"SELECT * FROM {call}").find(WindowTable)

    assert window("COUNT_TUMBLE(t, 3)").time is None
    assert window("COUNT_TUMBLE(t, at, 3)").time.name == "at"
    assert len(window("COUNT_SLIDE(t, 1, 3)").parameters) == 2
    assert len(window("COUNT_SLIDE(t, at, 3)").parameters) == 1
    assert window("PUNCTUATE(t, ended)").time is None
    assert window("PUNCTUATE(t, at, ended)").time.name == "at"


def test_a_call_of_a_window_function_outside_from_is_a_plain_call():
    assert tree("SELECT hop(a, b), session FROM t").find(WindowTable) is None


def test_a_row_pattern_stands_for_a_table():
    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY a ORDER BY at MEASURES FINAL last(x.v) AS v, y.v AS w"
        " AFTER MATCH SKIP TO LAST y PATTERN (x y+) WITHIN INTERVAL 5 MINUTES SUBSET u = (x, y)"
        " DEFINE y AS y.v > prev(y.v)) AS m"
    )
    match = tree(text).args["from_"].this
    assert isinstance(match, MatchRecognize)
    assert match.this == exp.to_table("t")
    assert match.alias_or_name == "m"
    assert [measure.alias for measure in match.measures] == ["v", "w"]
    assert match.measures[0].this.is_final
    assert match.args.get("timeout") is None
    assert (match.args["skip"], match.args["skip_variable"].name) == ("TO LAST", "y")
    assert [subset.this.name for subset in match.subsets] == ["u"]
    assert [definition.alias for definition in match.definitions] == ["y"]
    assert match.args.get("rows") is None
    copied = copy.deepcopy(match)
    assert copied == match
    assert copied.pattern == match.pattern
    assert copied.sql(Headrace) == match.sql(Headrace)


def test_patterns_take_part_in_comparison():
    assert tree("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b))") != tree(
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b+))"
    )


def test_the_offset_of_last_is_kept():
    call = tree("SELECT * FROM t MATCH_RECOGNIZE (MEASURES last(a.v, 1) AS v PATTERN (a+))").find(exp.Anonymous)
    assert function_name(call) == "last"
    assert len(call.expressions) == 2


def test_an_interval_sum_keeps_its_meaning():
    assert tree("SELECT a - INTERVAL 1 MINUTE 30 SECONDS").sql(Headrace) == (
        "SELECT a - (INTERVAL '1' MINUTE + INTERVAL '30' SECONDS)"
    )
