"""What an application says about rows that come behind the watermark."""

from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.texts import plan_text

STREAM = "CREATE STREAM s (id INT, at TIMESTAMP, {}WATERMARK FOR at AS at) WITH (connector = 'memory'{});"


def planned(*statements: str):
    return plan_text("\n".join(statements), "t", Path("/tmp"), {})


def test_late_rows_have_the_columns_of_their_stream_and_say_why_they_are_late():
    plan = planned(STREAM.format("", ""), "CREATE VIEW v AS SELECT * FROM s.late;", "SELECT id FROM s;")
    assert plan.relation("s.late").names == ("id", "at", "_reason", "_watermark", "_position")
    assert plan.relation("v").names == plan.relation("s.late").names
    assert [each.name for each in plan.outputs] == ["query_1"]


def test_a_column_of_the_streams_own_stays():
    plan = planned(STREAM.format("_Reason STRING, ", ""), "SELECT id FROM s;")
    assert plan.relation("s.late").names == ("id", "at", "_Reason", "_watermark", "_position")


def test_a_stream_that_keeps_them_has_a_view_of_them():
    plan = planned(STREAM.format("", ", late = 'keep'"), "SELECT count(*) AS n FROM s_late;")
    assert [(each.name, each.role) for each in plan.outputs] == [("s_late", "view"), ("query_1", "select")]
    assert plan.names["s_late"] == "MATERIALIZED VIEW"
    left = planned(STREAM.format("", ", late = 'keep'"), "DROP MATERIALIZED VIEW s_late;", "SELECT id FROM s;")
    assert [each.name for each in left.outputs] == ["query_1"]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["CREATE STREAM s (id INT) WITH (connector = 'memory', late = 'keep');"], "no row of it is late"),
        (["CREATE STREAM s (id INT) WITH (connector = 'memory');", "SELECT * FROM s.late;"], '"s" has no late rows'),
        (
            ["CREATE STREAM s_late (id INT) WITH (connector = 'memory');", STREAM.format("", ", late = 'keep'")],
            'makes a view "s_late"',
        ),
        ([STREAM.format("", ", late = 'accept'")], "not supported yet"),
        (
            [
                STREAM.format("", ""),
                "SELECT count(*) AS n FROM TUMBLE(s.late, at, INTERVAL 1 DAY) GROUP BY window_end;",
            ],
            "has no watermark",
        ),
    ],
)
def test_mistakes(statements, message):
    with pytest.raises(HeadraceError) as caught:
        planned(*statements)
    assert message in caught.value.message + str(caught.value.detail)


def test_what_is_dropped_is_no_longer_published():
    text = (
        "CREATE STREAM s (id INT) WITH (connector = 'memory');",
        "CREATE MATERIALIZED VIEW v AS SELECT id FROM s;",
        "CREATE SINK k WITH (connector = 'noop') AS SELECT id FROM s;",
        "INSERT INTO k SELECT id + 1 AS id FROM s;",
        "SELECT id FROM s;",
    )
    assert [each.name for each in planned(*text).outputs] == ["v", "k", "k_2", "query_1"]
    assert [each.name for each in planned(*text, "DROP SINK k;", "DROP MATERIALIZED VIEW v;").outputs] == ["query_1"]
