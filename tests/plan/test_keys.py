"""What identifies a row of a view, which views move together, and where a table is looked up."""

import pytest

from headrace.application import Application
from headrace.cli.inspect import plan_warnings
from headrace.errors import PlanError
from headrace.plan.together import groups, takes_changes

TABLES = """
CREATE TABLE people (id INT, name STRING, city INT, PRIMARY KEY (id)) WITH (connector = 'memory');
CREATE TABLE cities (id INT, name STRING, PRIMARY KEY (id)) WITH (connector = 'memory');
CREATE STREAM clicks (at TIMESTAMP, page STRING, person INT, WATERMARK FOR at AS at) WITH (connector = 'memory');
"""


def key(query: str) -> tuple[str, ...]:
    app = Application().sql(f"{TABLES} CREATE MATERIALIZED VIEW v AS {query};")
    return app.plan.outputs[0].key


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM people", ("id",)),
        ("SELECT name, id AS number FROM people WHERE city > 1", ("number",)),
        ("SELECT name FROM people", ()),
        ("SELECT DISTINCT name FROM people", ("name",)),
        ("SELECT city, count(*) AS n FROM people GROUP BY city", ("city",)),
        ("SELECT count(*) AS n FROM people GROUP BY city", ()),
        ("SELECT count(*) AS n FROM people", ()),
        ("SELECT p.id, c.name FROM people p JOIN cities c ON c.id = p.city", ("id",)),
        ("SELECT p.id, c.name FROM people p LEFT JOIN cities c ON c.id = p.city", ("id",)),
        ("SELECT p.id, c.id AS c FROM people p JOIN cities c ON c.name = p.name", ("id", "c")),
        ("SELECT p.id, c.id AS c FROM people p FULL JOIN cities c ON c.name = p.name", ("id", "c")),
        ("SELECT coalesce(p.id, c.id) AS id FROM people p FULL JOIN cities c ON c.id = p.id", ("id",)),
        ("SELECT id FROM people p FULL JOIN cities c USING (id)", ("id",)),
        ("SELECT p.id, p.name FROM people p LEFT SEMI JOIN cities c ON c.id = p.city", ("id",)),
        ("SELECT name, city FROM people QUALIFY row_number() OVER (PARTITION BY city ORDER BY id) = 1", ("city",)),
        ("SELECT name, city FROM people QUALIFY row_number() OVER (PARTITION BY city ORDER BY id) <= 2", ()),
        ("SELECT name FROM people INTERSECT SELECT name FROM cities", ("name",)),
        ("SELECT id, name FROM people ORDER BY name LIMIT 3", ("id",)),
        ("SELECT id FROM people UNION ALL SELECT id FROM cities", ()),
        ("SELECT id FROM people UNION SELECT id FROM cities", ("id",)),
        (
            "SELECT page, window_start, count(*) AS n FROM TUMBLE(clicks, at, INTERVAL 1 MINUTE) "
            "GROUP BY page, window_start",
            ("page", "window_start"),
        ),
        (
            "SELECT page, window_start, count(*) AS n "
            "FROM CUMULATE(clicks, at, INTERVAL 1 MINUTE, INTERVAL 1 HOUR) GROUP BY page, window_start, window_end",
            (),
        ),
        ("SELECT page, at FROM clicks", ()),
    ],
)
def test_what_identifies_a_row(query, expected):
    assert key(query) == expected


def test_a_declared_key_wins():
    app = Application().sql(f"{TABLES} CREATE MATERIALIZED VIEW v WITH (key = 'NAME') AS SELECT * FROM people;")
    assert app.plan.outputs[0].key == ("name",)


def test_a_key_of_which_the_query_says_nothing_is_warned_of():
    sink = "CREATE SINK s WITH (connector = 'sqlite', path = 's.db', table = 't', key = 'id') AS"
    unknown = f"{TABLES} {sink} SELECT p.id, c.name FROM people p JOIN cities c ON c.name = p.name;"
    warnings = list(plan_warnings(Application().sql(unknown).plan))
    assert ("s", "rows are written by key id: of several rows with the same one alone is kept") in warnings
    assert not list(plan_warnings(Application().sql(f"{TABLES} {sink} SELECT id, name FROM people;").plan))


def test_views_that_share_a_source_move_together_and_others_apart():
    app = Application().sql(f"""{TABLES}
        CREATE STREAM other (k INT) WITH (connector = 'memory');
        CREATE MATERIALIZED VIEW a AS SELECT * FROM people;
        CREATE MATERIALIZED VIEW b AS SELECT k, count(*) AS n FROM other GROUP BY k;
        CREATE MATERIALIZED VIEW c AS SELECT * FROM cities;
        CREATE MATERIALIZED VIEW d AS SELECT p.id FROM people p JOIN cities c ON c.id = p.city;
        SELECT k FROM other;
        SELECT count(*) AS n FROM cities;
    """)
    assert [[output.name for output in group] for group in groups(app.plan.outputs)] == [
        ["a", "c", "d", "query_2"],
        ["b"],
    ]
    assert [o.name for o in app.plan.outputs if not takes_changes(o)] == ["query_1"]


@pytest.mark.parametrize(
    ("statement", "first_line"),
    [
        (
            "CREATE MATERIALIZED VIEW v AS SELECT c.page, p.name FROM clicks c JOIN people p ON p.id = c.person;",
            "changelog",
        ),
        (
            "CREATE SINK v WITH (connector = 'files', path = 'out') AS "
            "SELECT c.page, p.name FROM clicks c JOIN people p ON p.id = c.person;",
            "append",
        ),
        (
            "CREATE SINK v WITH (connector = 'files', path = 'out') AS SELECT name FROM people;",
            "changelog",
        ),
        (
            "CREATE MATERIALIZED VIEW v AS SELECT p.name, window_start, count(*) AS n "
            "FROM TUMBLE(clicks, at, INTERVAL 1 MINUTE) c JOIN people p ON p.id = c.person "
            "GROUP BY p.name, window_start;",
            "append",
        ),
        (
            "CREATE VIEW named AS SELECT c.at, p.name FROM clicks c LEFT JOIN people p ON p.id = c.person; "
            "CREATE MATERIALIZED VIEW v AS SELECT name, window_start, count(*) AS n "
            "FROM TUMBLE(named, at, INTERVAL 1 MINUTE) GROUP BY name, window_start;",
            "append",
        ),
    ],
)
def test_a_table_is_looked_up_where_rows_must_not_change(statement, first_line):
    app = Application().sql(TABLES + statement)
    assert app.explain("v").startswith(first_line)


def test_rows_that_change_need_a_key_in_a_database():
    with pytest.raises(PlanError, match='sink "out" needs a key'):
        Application().sql(
            f"{TABLES} CREATE SINK out WITH (connector = 'sqlite', path = 'x.db', table = 't') AS "
            "SELECT name FROM people;"
        )
