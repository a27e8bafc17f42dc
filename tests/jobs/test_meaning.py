"""What a query means is more than its text: what must rebuild its state, and what must not."""

import pytest

from headrace.jobs.texts import plan_text
from headrace.jobs.upgrade import Fate, compare

TIME = "at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS"
STREAM = f"CREATE STREAM s (k STRING, v INT, w INT, c AS v * 2, {TIME}) WITH (connector = 'memory');"
MOST = f"{STREAM} CREATE MATERIALIZED VIEW o AS SELECT k, max(v) AS m FROM s GROUP BY k;"
COMPUTED = MOST.replace("max(v)", "max(c)")
FEES = f"""
CREATE FUNCTION fee(v INT) RETURNS INT LANGUAGE PYTHON AS 'money:a';
CREATE FUNCTION other(v INT) RETURNS INT LANGUAGE PYTHON AS 'money:a';
{MOST.replace("max(v)", "max(fee(v))")}
"""
FILES = MOST.replace("'memory'", "'files', path = 'in', format = 'csv'")
TOPIC = MOST.replace("'memory'", "'kafka', topic = 't', format = 'avro', avro_schema = 'a.avsc'")
MADE = """
CREATE STREAM s (k STRING, v INT, w INT) WITH (connector = 'datagen', k = 'a', v = 'value % 2', w = '1', rows = 5);
CREATE MATERIALIZED VIEW o AS SELECT k, max(v) AS m FROM s GROUP BY k;
"""
TABLE = """
CREATE TABLE t (k STRING, name STRING, z INT, PRIMARY KEY (k)) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW o AS SELECT name, count(*) AS n FROM t GROUP BY name;
"""
LOOKED_UP = f"""
CREATE TABLE t (k STRING, name STRING, z INT, PRIMARY KEY (k))
  WITH (connector = 'files', path = 't', refresh = 'never');
{STREAM}
CREATE MATERIALIZED VIEW o AS SELECT t.name, count(*) AS n FROM s JOIN t ON t.k = s.k GROUP BY t.name;
"""
ASKED = f"""
CREATE TABLE t (k STRING, name STRING, z INT) WITH (connector = 'files', path = 't');
{STREAM}
CREATE MATERIALIZED VIEW o AS SELECT k, max(v) AS m FROM s WHERE k IN (SELECT t.k FROM t WHERE z > 1) GROUP BY k;
"""
WINDOW = f"""
{STREAM}
CREATE MATERIALIZED VIEW o AS
  SELECT k, window_start, sum(v) FILTER (WHERE w > 1) AS m
  FROM TUMBLE(s, at, INTERVAL 10 SECONDS, INTERVAL 2 SECONDS) GROUP BY k, window_start, window_end;
"""
HOPS = WINDOW.replace("TUMBLE(s, at, ", "HOP(s, at, INTERVAL 5 SECONDS, ")
TOP = f"""
{STREAM}
CREATE MATERIALIZED VIEW o AS SELECT k, v, window_start FROM TUMBLE(s, at, INTERVAL 10 SECONDS)
  QUALIFY row_number() OVER (PARTITION BY window_start, window_end ORDER BY v DESC NULLS LAST) <= 2;
"""
FIRST = f"{STREAM} CREATE MATERIALIZED VIEW o AS SELECT k, v FROM s ORDER BY v NULLS LAST LIMIT 3 OFFSET 2;"
JOINED = f"""
{STREAM} {STREAM.replace("STREAM s", "STREAM r")}
CREATE MATERIALIZED VIEW o AS SELECT s.k, r.v FROM s JOIN r
  ON s.k = r.k AND r.at BETWEEN s.at AND s.at + INTERVAL 1 MINUTE;
"""
RANKED = f"""
{STREAM}
CREATE MATERIALIZED VIEW o AS SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v NULLS LAST) AS place FROM s;
"""
NAMED = f"{STREAM} CREATE MATERIALIZED VIEW o (x, y) AS SELECT DISTINCT v, w FROM s;"
MATCH = f"""
{STREAM}
CREATE MATERIALIZED VIEW o AS SELECT k, x, n FROM s MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY at, w
  MEASURES last(b.v) AS x, count(u.v) AS n
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (a b+ d) WITHIN INTERVAL 1 MINUTE
  SUBSET u = (a, b)
  DEFINE b AS b.v > a.v, d AS d.v < count(u.w)
);
"""
LATE = STREAM.replace("'memory'", "'memory', late = 'keep'")
UNITED = f"""
{STREAM} {STREAM.replace("STREAM s", "STREAM r")}
CREATE SINK o WITH (connector = 'files', path = 'out') AS SELECT v, w FROM s UNION ALL SELECT v, w FROM r;
"""

REBUILT = {
    "a computed column": (COMPUTED, "v * 2", "v * 3", "column c of s is now v * 3"),
    "the type of a key": (MOST, "k STRING", "k BIGINT", "column k of s is now BIGINT"),
    "the type of a value": (MOST, "v INT", "v STRING", "column v of s is now STRING"),
    "the type of what a computed column reads": (COMPUTED, "v INT", "v BIGINT", "column v of s is now BIGINT"),
    "the type that a computed column has": (COMPUTED, "c AS", "c BIGINT AS", "column c of s is now v * 2, a BIGINT"),
    "a column that must be there": (MOST, "v INT", "v INT NOT NULL", "column v of s is now INT NOT NULL"),
    "another that must be there": (MOST, "w INT", "w INT NOT NULL", "column w of s is INT NOT NULL, which is new"),
    "event time": (
        WINDOW,
        "at TIMESTAMP,",
        "at TIMESTAMP AS PROCTIME(),",
        "column at of s is now PROCTIME(), a TIMESTAMP",
    ),
    "the delay of a watermark": (MOST, "5 SECONDS", "6 SECONDS", "watermark 6 seconds behind"),
    "an idle stream": (MOST, "INTERVAL 5 SECONDS", "INTERVAL 5 SECONDS IDLE AFTER INTERVAL 1 MINUTE", "1 minute"),
    "a function": (
        FEES,
        "fee(v INT) RETURNS INT LANGUAGE PYTHON AS 'money:a'",
        "fee(v INT) RETURNS INT LANGUAGE PYTHON AS 'money:b'",
        "function fee is now money:b, returns INT",
    ),
    "what a function returns": (
        FEES,
        "fee(v INT) RETURNS INT",
        "fee(v INT) RETURNS STRING",
        "function fee is now money:a, returns STRING",
    ),
    "what a function takes": (FEES, "fee(v INT)", "fee(v BIGINT)", "CAST(v AS BIGINT)"),
    "a function of a computed column": (
        FEES.replace("max(fee(v))", "max(c)").replace("v * 2", "fee(v)"),
        "'money:a';",
        "'money:b';",
        "function fee is now money:b",
    ),
    "a separator": (FILES, "'csv'", "'csv', delimiter = ';'", "delimiter of s is ';', which is new"),
    "a header": (FILES, "'csv'", "'csv', header = false", "header of s is false, which is new"),
    "how times are written": (FILES, "'csv'", "'csv', timestamp_format = 'yyyy'", "timestamp_format of s is 'yyyy'"),
    "what is verified": (FILES.replace("csv", "json"), "'json'", "'json', verify = 'used'", "verify of s is 'used'"),
    "a schema": (TOPIC, "a.avsc", "b.avsc", "avro_schema of s is now 'b.avsc'"),
    "what is generated": (MADE, "value % 2", "value % 3", "column v of s is now INT from value % 3"),
    "the time of what is generated": (MADE, "rows = 5", "rows = 5, start = '2024-01-01'", "start of s is"),
    "a type of a table": (TABLE, "name STRING", "name INT", "column name of t is now INT"),
    "a column that a table keeps unread": (TABLE, "z INT", "z BIGINT", "column z of t is now BIGINT"),
    "one more that a table keeps": (TABLE, "z INT", "z INT, y INT", "column y of t is INT, which is new"),
    "the order in which a table keeps them": (
        TABLE,
        "name STRING, z INT",
        "z INT, name STRING",
        "order of the columns of t is now k, z, name",
    ),
    "the key of a table": (TABLE, "KEY (k)", "KEY (k, name)", "each k, name"),
    "the key of a table that is looked up": (LOOKED_UP, "KEY (k)", "KEY (z)", "key of t is now z"),
    "what is looked up": (ASKED, "z > 1", "z > 2", "what is looked up is now"),
    "a type of what is looked up": (ASKED, "z INT", "z STRING", "column z of t is now"),
    "the size of a window": (WINDOW, "10 SECONDS", "20 SECONDS", "20 seconds"),
    "the offset of a window": (
        WINDOW,
        "2 SECONDS",
        "3 SECONDS",
        "offset of windows (tumbling, 10 seconds) is now 0:00:03",
    ),
    "the offset of hops": (HOPS, "2 SECONDS", "3 SECONDS", "offset of windows"),
    "a filter": (WINDOW, "w > 1", "w > 2", "w > 2"),
    "the order of first rows": (TOP, "NULLS LAST", "NULLS FIRST", "order is now v DESC NULLS FIRST"),
    "the rows that are compared": (TOP, "w INT", "w BIGINT", "column w of s is now BIGINT"),
    "the order of rows": (FIRST, "NULLS LAST", "NULLS FIRST", "order is now v NULLS FIRST"),
    "the rows passed over": (FIRST, "OFFSET 2", "OFFSET 1", "order is now v NULLS LAST, from row 2 on"),
    "the bounds of a join": (JOINED, "1 MINUTE", "2 MINUTES", "'2'"),
    "a type under a join": (JOINED, "STREAM r (k STRING", "STREAM r (k INT", "column k of r is now INT"),
    "the names of a view's columns": (NAMED, "(x, y)", "(y, x)", "naming of columns is now y from v, x from w"),
    "a condition": (MATCH, "b.v > a.v", "b.v >= a.v", "b.v >= a.v"),
    "a measure": (MATCH, "last(b.v)", "first(b.v)", "measure x is now FIRST(b.v, 0)"),
    "a set of variables": (MATCH, "u = (a, b)", "u = (b, d)", "measure n is now COUNT(v) over b|d"),
    "the time of a match": (MATCH, "WITHIN INTERVAL 1", "WITHIN INTERVAL 2", "within 2 minutes"),
    "partial matches": (MATCH, "1 MINUTE", "1 MINUTE ON TIMEOUT EMIT", "ran out of time"),
    "where a search goes on": (MATCH, "PAST LAST ROW", "TO NEXT ROW", "the row after its first"),
    "the rows of a match": (MATCH, "ONE ROW", "ALL ROWS", "all rows per match"),
    "the order of a match": (MATCH, "at, w", "at, w DESC", "order of rows of the same time is now w DESC"),
    "a type under a match": (MATCH, "v INT", "v BIGINT", "column v of s is now BIGINT"),
    "what a match keeps of a row": (
        MATCH.replace("ONE ROW", "ALL ROWS"),
        "w INT,",
        "w INT, y INT,",
        "row that a pattern keeps is now",
    ),
    "a type under a union": (
        UNITED,
        "STREAM r (k STRING, v INT",
        "STREAM r (k STRING, v BIGINT",
        "column v of r is now BIGINT",
    ),
    "the zone of times": (
        MOST,
        "CREATE STREAM",
        "SET spark.sql.session.timeZone = 'Asia/Tokyo'; CREATE STREAM",
        "SET spark.sql.session.timeZone is Asia/Tokyo, which is new",
    ),
    "what late rows are": (LATE, "w INT,", "w INT, y INT,", "column y of s is INT, which is new"),
    "how numbers overflow": (
        MOST,
        "CREATE STREAM",
        "SET spark.sql.ansi.enabled = false; CREATE STREAM",
        "SET spark.sql.ansi.enabled is false",
    ),
    "how long a view remembers": (
        MOST,
        "VIEW o AS",
        "VIEW o WITH (ttl = '1 day') AS",
        "ttl of o is 1 day, which is new",
    ),
    "distinct values": (MOST.replace("max(v)", "count(v)"), "count(v)", "count(DISTINCT v)", "DISTINCT v"),
    "the order in which rows are compared": (RANKED, "NULLS LAST", "NULLS FIRST", "compare rows"),
    "the key of a view": (NAMED, "(x, y)", "(x, y) WITH (key = 'x')", "its key was (x, y) and is (x)"),
}

KEPT = {
    "layout": (COMPUTED, "v * 2", "v\n  *  2 -- twice\n"),
    "a comment on a column": (MOST, "v INT", "v INT COMMENT 'how many'"),
    "another word for a type": (MOST, "v INT", "v INTEGER"),
    "a column that is not read": (MOST, "w INT,", "w INT, y INT,"),
    "a column that is not read, in front": (MOST, "(k STRING", "(y INT, k STRING"),
    "the type of a column that is not read": (MOST, "w INT", "w STRING"),
    "a computed column that is not read": (MOST, "v * 2", "v * 3"),
    "a column of a join that is not read": (JOINED, "STREAM r (k", "STREAM r (y INT, k"),
    "a column that a match does not keep": (MATCH, "c AS", "y INT, c AS"),
    "a column of a table that is looked up": (LOOKED_UP, "z INT", "z INT, y INT"),
    "a function that is not called": (FEES, "other(v INT) RETURNS INT", "other(v INT) RETURNS STRING"),
    "what is generated and not read": (MADE, "w = '1'", "w = '2'"),
    "how many rows are taken at once": (FILES, "'csv'", "'csv', max_files_per_batch = 1"),
    "where a first run begins": (TOPIC, "'t'", "'t', start = 'latest'"),
    "how many partial matches there may be": (MATCH, "CREATE STREAM", "SET partial_matches = 5; CREATE STREAM"),
    "how often batches come": (MOST, "CREATE STREAM", "SET trigger = '1 second'; CREATE STREAM"),
    "a setting of Spark": (MOST, "CREATE STREAM", "SET spark.driver.memory = '4g'; CREATE STREAM"),
    "a statement that it has nothing to do with": (
        MOST,
        "CREATE STREAM",
        "CREATE VIEW x AS SELECT 1 AS one; CREATE STREAM",
    ),
}


@pytest.fixture
def change(tmp_path):
    (tmp_path / "money.py").write_text("def a(v):\n    return v\n\n\ndef b(v):\n    return v\n")

    def change_of(text, old, new):
        assert old in text
        later = text.replace(old, new, 1)
        plans = [plan_text(each, "app", tmp_path, {}) for each in (text, later)]
        return next(each for each in compare(*plans).changes if each.output in {"o", "s_late"})

    return change_of


@pytest.mark.parametrize("name", REBUILT)
def test_another_answer_or_another_state_is_rebuilt_with_the_reason(change, name):
    text, old, new, reason = REBUILT[name]
    found = change(text, old, new)
    assert found.fate is Fate.REBUILT
    assert reason in found.why


@pytest.mark.parametrize("name", KEPT)
def test_what_changes_neither_answer_nor_state_keeps_it(change, name):
    found = change(*KEPT[name])
    assert (found.fate, found.why.split(",")[0]) == (Fate.KEEPS, "its query is the same")
