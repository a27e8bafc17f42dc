"""Where the sources of an application begin when they are to begin at a time."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.texts import plan_text
from headrace.plan.beginning import Beginning, beginning, begins, check_instant

AT = datetime(2024, 5, 1, tzinfo=UTC)
TEXT = """
CREATE STREAM orders (k STRING) WITH (connector = 'kafka', topic = 'orders', format = 'json', start = 'latest');
CREATE STREAM letters (k STRING) WITH (connector = 'files', path = 'in');
CREATE STREAM noise (k STRING) WITH (connector = 'datagen', k = 'id');
CREATE STREAM line (k STRING) WITH (connector = 'socket', host = 'localhost', port = 9);
CREATE STREAM unread (k STRING) WITH (connector = 'kafka', topic = 'unread', format = 'json');
CREATE TABLE people (k STRING, name STRING, PRIMARY KEY (k)) WITH (connector = 'files', path = 'people');
CREATE MATERIALIZED VIEW a AS SELECT o.k, p.name FROM orders o JOIN people p ON p.k = o.k;
CREATE MATERIALIZED VIEW b AS SELECT k, count(*) AS n FROM letters GROUP BY k;
CREATE MATERIALIZED VIEW c AS SELECT k, count(*) AS n
  FROM (SELECT k FROM noise UNION ALL SELECT k FROM line) GROUP BY k;
"""


@pytest.fixture
def outputs(tmp_path: Path):
    return plan_text(TEXT, "t", tmp_path, {}).outputs


def test_each_source_says_where_it_begins(outputs):
    found = begins(outputs, AT)
    assert [(each.source, each.at_time) for each in found] == [
        ("letters", True),
        ("line", False),
        ("noise", False),
        ("orders", True),
        ("people", False),
    ]
    assert found[0].where == "files that were modified at 2024-05-01T00:00:00Z or later"
    assert "its end without one" in found[3].where
    assert beginning(AT, found) == Beginning(AT, ("letters", "orders"))


def test_only_some(outputs):
    found = begins(outputs, AT, ["Orders"])
    assert {each.source for each in found if each.at_time} == {"orders"}
    assert found[0].where == "as it always begins"
    noted = beginning(AT, found)
    assert noted.of("ORDERS") == AT
    assert noted.of("letters") is None
    assert Beginning.from_text(noted.text()) == noted


@pytest.mark.parametrize(
    ("chosen", "message", "detail"),
    [
        (["order"], 'the application reads no source "order"', None),
        (["unread"], 'the application reads no source "unread"', None),
        (["orders", "noise"], "noise cannot begin at a time", "noise: a generator always begins anew."),
        (["people"], "people cannot begin at a time", "people: a table is read whole, as always."),
        (["line"], "line cannot begin at a time", "line: a socket cannot give again what it gave."),
    ],
)
def test_what_cannot_is_refused(outputs, chosen, message, detail):
    with pytest.raises(HeadraceError) as caught:
        begins(outputs, AT, chosen)
    assert (caught.value.message, caught.value.detail) == (message, detail)


def test_an_application_of_which_nothing_can_is_refused(outputs):
    with pytest.raises(HeadraceError, match="no source of the application can begin at a time") as caught:
        begins(outputs[2:], AT)
    assert "noise: a generator" in caught.value.detail


def test_instants():
    now = AT + timedelta(days=1)
    assert check_instant(datetime(2024, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))), now) == AT
    with pytest.raises(HeadraceError, match="2024-05-03T00:00:00Z has not come yet"):
        check_instant(AT + timedelta(days=2), now)
    with pytest.raises(HeadraceError, match="out of reach"):
        check_instant(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))), now)
    with pytest.raises(HeadraceError, match="before 1970"):
        check_instant(datetime(1969, 1, 1, tzinfo=UTC), now)
