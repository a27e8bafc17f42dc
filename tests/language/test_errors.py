"""Every mistake is an error with a message, a place and, where one helps, a hint."""

import pytest

from headrace.errors import HeadraceError, Source
from headrace.language import parse

# text, with the place of the error between » and «; message; part of the hint
MISTAKES = [
    ("»CREAT« STREAM x (a INT)", 'unexpected "CREAT" at the start of a statement', "Did you mean CREATE?"),
    ("»STREAM« x (a INT)", 'unexpected "STREAM" at the start of a statement', "Did you mean CREATE STREAM?"),
    ("»MERGE« INTO x", 'unexpected "MERGE" at the start of a statement', "Statements start with CREATE"),
    ("SELECT 1; »@«", 'unexpected "@" at the start of a statement', "Statements start with"),
    ("»\0«", 'unexpected "U+0000" at the start of a statement', "Statements start with"),
    ("CREATE »STREEM« x", 'cannot create "STREEM"', "Did you mean CREATE STREAM?"),
    ("CREATE »INDEX« x", 'cannot create "INDEX"', "CREATE can be followed by STREAM"),
    ("CREATE »OR« REPLACE VIEW x AS SELECT 1", "CREATE OR REPLACE is not a statement", "upgrade"),
    ("CREATE MATERIALIZED »VEIW« x", 'expected VIEW but found "VEIW"', "Did you mean VIEW?"),
    ("CREATE STREAM »select« (a INT)", 'expected the stream\'s name but found "select"', "backquotes"),
    ("CREATE STREAM a».«b (x INT)", "the stream's name has no dots", "one part"),
    ("CREATE STREAM »`a.b`« (x INT)", "the stream's name cannot be 'a.b'", "without dots"),
    ("CREATE STREAM x (a INT, »a STRING«)", "column a is defined twice", None),
    ("CREATE STREAM x (a INT,»)«", 'expected a column\'s name but found ")"', None),
    ("CREATE STREAM x (a »INTT«)", "unknown type INTT", "Did you mean INT?"),
    ("CREATE STREAM x (a ARRAY<»UUID«>)", "unknown type ARRAY", None),
    ("CREATE STREAM x (a»)«", 'expected a type but found ")"', "Types are"),
    ("CREATE STREAM x (a INT NOT »NUL«)", 'expected NULL but found "NUL"', "Did you mean NULL?"),
    (
        "CREATE STREAM x (a INT »COMENT« 'x')",
        'expected "," or ")" but found "COMENT"',
        "Did you mean COMMENT?",
    ),
    ("CREATE STREAM x (a INT, »WATERMAKR« FOR a AS a)", 'unexpected "WATERMAKR"', "Did you mean WATERMARK?"),
    ("CREATE STREAM x (a INT) »WHIT« (b = 1)", 'unexpected "WHIT"', "Did you mean WITH?"),
    ("CREATE STREAM x (a INT) »AS« SELECT 1", "a stream or table has no query", "CREATE VIEW"),
    ("CREATE STREAM x (a INT) WITH (b = 1, »b« = 2)", "option b is given twice", None),
    (
        "CREATE STREAM x (a INT) WITH (b = »kafka«)",
        'expected a string, a number, true or false but found "kafka"',
        "b = 'kafka'",
    ),
    (
        "CREATE STREAM x (a INT) WITH (b »'kafka'«)",
        "expected \"=\" but found the string 'kafka'",
        "b = 'value'",
    ),
    (
        "CREATE STREAM x (a INT) WITH (b = 1»;«",
        'expected "," or ")" but found the end of the statement',
        None,
    ),
    ("CREATE STREAM x (a INT) WITH (b = »1e999«)", "the number 1e999 is too large", None),
    (
        "CREATE STREAM x (a TIMESTAMP, WATERMARK FOR a AS »b - INTERVAL 1 SECOND«)",
        "the watermark for a is computed from b",
        "WATERMARK FOR a AS a",
    ),
    (
        "CREATE STREAM x (a TIMESTAMP, WATERMARK FOR a AS »a + INTERVAL 1 SECOND«)",
        "a watermark cannot run ahead of its column",
        "INTERVAL 5 SECONDS",
    ),
    (
        "CREATE STREAM x (a TIMESTAMP, WATERMARK FOR a AS »upper(a)«)",
        "a watermark is a column minus an interval",
        "WATERMARK FOR column",
    ),
    (
        "CREATE STREAM x (a TIMESTAMP, WATERMARK FOR a AS »a - INTERVAL 1 MONTH«)",
        "an interval in month has no fixed length",
        "days",
    ),
    (
        "CREATE STREAM x (a TIMESTAMP, WATERMARK FOR a AS »a - 5«)",
        "expected an interval",
        "INTERVAL 5 SECONDS",
    ),
    (
        "CREATE STREAM x (a TIMESTAMP, WATERMARK FOR a AS a IDLE »INTERVAL« 1 SECOND)",
        'expected AFTER but found "INTERVAL"',
        "IDLE AFTER",
    ),
    (
        "CREATE STREAM x (a TIMESTAMP, WATERMARK FOR a AS a, »WATERMARK« FOR a AS a)",
        "a second WATERMARK",
        None,
    ),
    ("CREATE SINK x (a INT, »WATERMARK FOR a AS a«)", "a sink has no watermark", None),
    ("CREATE VIEW x »SELECT« 1", 'expected AS but found "SELECT"', "CREATE VIEW name AS"),
    ("CREATE VIEW x AS »INSERT« INTO y SELECT 1", 'expected a query but found "INSERT"', None),
    ("CREATE VIEW x AS »SELEC« 1", 'expected a query but found "SELEC"', "Did you mean SELECT?"),
    ("CREATE VIEW x (a, »A«) AS SELECT 1, 2", "A stands twice", None),
    ("CREATE VIEW x WITH (a = 1) AS SELECT 1 WITH (»b« = 2)", "a second WITH", "one WITH"),
    (
        "CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE LANGUAGE »JAVA« AS 'x'",
        "functions cannot be written in JAVA",
        "PYTHON",
    ),
    (
        "CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE PYTHON AS »x«",
        'expected the function\'s place but found "x"',
        "q",
    ),
    ("SELECT a FORM »t«", 'unexpected "t"', "Did you mean FROM?"),
    ("SELECT a FROM t WERE »a« > 1", 'unexpected "a"', "Did you mean WHERE?"),
    ("SELECT a FROM t GROUP »a«", 'unexpected "a"', "Did you mean GROUP BY?"),
    ("SELECT (a »FROM« t", 'expected ")" but found "FROM"', None),
    ("SELECT a, »FROM« t", 'unexpected "FROM"', None),
    ("SELECT »FROM« t", 'expected an expression but found "FROM"', None),
    ("SELECT a FROM t WHERE»;« SELECT 1", "expected an expression but found the end of the statement", None),
    ("SELECT cast(a AS »foo«)", 'expected a type but found "foo"', None),
    ("SELECT cast(a »int«)", 'expected AS but found "int"', None),
    ("SELECT 1 »2«", 'unexpected "2"', None),
    ("SELECT »?«", "a query has no parameters", "--var"),
    ("SELECT »'abc«", "the string has no end", "Close it with '."),
    ("SELECT 1,\n »`abc«\n", "the quoted name has no end", "Close it with `."),
    ("SELECT 1 »/* abc«", "the comment has no end", "Close it with */."),
    ("SELECT »X'zz'«", "the text cannot be read", "hexadecimal"),
    ("SELECT * FROM (SELECT * FROM t »EMIT« CHANGES) x", "EMIT is not complete here", "outermost query"),
    ("SELECT * FROM t »EMIT« ON WINDOW CLOS", "EMIT is not complete here", "EMIT ON WINDOW CLOSE"),
    ("SELECT * FROM a JOIN r »FOR« SYSTEM_TIME a.at ON true", "a versioned table needs a moment", "AS OF"),
    ("SHOW »STREAM«", 'cannot show "STREAM"', "Did you mean STREAMS?"),
    ("SHOW»«", "cannot show the end of the statement", "SHOW can be followed by"),
    ("DROP »x«", 'cannot drop "x"', "DROP can be followed by"),
    ("EXPLAIN »EXPLAIN« SELECT 1", "EXPLAIN stands twice", None),
    ("SET a = »;«", "expected a value for a", None),
    ("INSERT »x« SELECT 1", 'expected INTO but found "x"', "INSERT INTO"),
    ("DESCRIBE a »b«", 'unexpected "b"', "semicolon"),
    (
        "SELECT * FROM »HOP«(t, at, INTERVAL 1 SECOND)",
        "too few arguments for HOP",
        "HOP(data, time, slide, size",
    ),
    (
        "SELECT * FROM a, SLIDE(t, at, INTERVAL 1 SECOND, »2«)",
        "too many arguments for SLIDE",
        "SLIDE(data, time, size)",
    ),
    ("SELECT * FROM »TUMBLE«()", "TUMBLE needs a table", "TUMBLE(data, time, size"),
    ("SELECT * FROM TUMBLE(t, »SIEZ« => 1)", "TUMBLE has no argument SIEZ", "Did you mean SIZE?"),
    ("SELECT * FROM TUMBLE(t, »5«, INTERVAL 1 SECOND)", "TUMBLE needs a time column here", "TUMBLE(data"),
    ("SELECT * FROM TUMBLE(t, at, SIZE => 1, SIZE => »2«)", "SIZE is given twice", None),
    ("SELECT * FROM TUMBLE(»'t'«, at, 1)", "expected a table but found the string 't'", "TUMBLE(data"),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b) DEFINE »c« AS true)",
        "the pattern has no variable c",
        "The pattern has a, b.",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (small large) DEFINE »smal« AS true)",
        "the pattern has no variable smal",
        "Did you mean small?",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (AFTER MATCH SKIP TO LAST »c« PATTERN (a b))",
        "the pattern has no variable c",
        "The pattern has a, b.",
    ),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b) SUBSET »a« = (b))", "the name a is taken already", None),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS 1, »A« AS 2)",
        "the variable A is defined twice",
        None,
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) »DEFIN« a AS 1)",
        'unexpected "DEFIN" in MATCH_RECOGNIZE',
        "Did you mean DEFINE?",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x »PATERN« (a))",
        'expected PATTERN but found "PATERN"',
        "Did you mean PATTERN?",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (MEASURES a.b »PATTERN« (a))",
        'expected "AS" but found "PATTERN"',
        "a name",
    ),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a b»{3,2}«))",
        "a pattern cannot be repeated 3 to 2 times",
        None,
    ),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a | »)«)", "expected a pattern variable", "Write ()"),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a+»+«))", "a quantifier cannot follow a quantifier", "(a+)*"),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a »,« b))", 'unexpected "," in the pattern', None),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a »{«- b))", '"-}" is missing in the pattern', None),
    ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN »(«a b", '")" is missing after PATTERN', None),
    (
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a) WITHIN »5«)",
        'expected an interval but found "5"',
        "WITHIN",
    ),
]


def error_of(text: str) -> HeadraceError:
    with pytest.raises(HeadraceError) as raised:
        parse(Source("app.sql", text))
    return raised.value


@pytest.mark.parametrize(("marked", "message", "hint"), MISTAKES)
def test_a_mistake_is_shown_at_its_place(marked, message, hint):
    start = marked.index("»")
    end = marked.index("«") - 1
    error = error_of(marked.replace("»", "").replace("«", ""))
    assert error.message == message
    assert (error.span.start, error.span.end) == (start, end)
    if hint is None:
        assert error.hint is None or error.hint
    else:
        assert hint in (error.hint or "")
    assert "\033" not in error.report()


def test_the_report_shows_line_caret_and_hint():
    error = error_of("SELECT 1;\n\nSELECT a\nFROM HOP(bids, at, INTERVAL 1 SECOND)")
    assert error.report() == (
        "error: too few arguments for HOP\n"
        "  app.sql:4:6\n"
        "  4 | FROM HOP(bids, at, INTERVAL 1 SECOND)\n"
        "           ^^^\n"
        "hint: Write HOP(data, time, slide, size [, offset])."
    )


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 500 + "1" + ")" * 500,
        "SELECT " + "f(" * 500 + "1" + ")" * 500,
        "SELECT " + "NOT " * 5000 + "a",
        "SELECT " + "- " * 5000 + "a",
        "SELECT " + "CASE WHEN a THEN " * 500 + "1" + " END" * 500,
        "SELECT * FROM " + "(SELECT * FROM " * 500 + "t" + ")" * 500,
        "CREATE STREAM s (a " + "ARRAY<" * 500 + "INT" + ">" * 500 + ")",
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (" + "(" * 500 + "a" + ")" * 500 + "))",
    ],
)
def test_deep_nesting_is_an_error_of_the_user(text):
    assert "nested too deeply" in error_of(text).message


def test_ordinary_nesting_and_long_chains_are_fine():
    parse(Source("app.sql", "SELECT " + "f(" * 25 + "1" + ")" * 25))
    parse(Source("app.sql", "SELECT * FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(2000))))
    parse(Source("app.sql", " UNION ALL ".join(["SELECT 1"] * 300)))


@pytest.mark.parametrize("statement", ["DROP TABLE x", "SHOW TABLES", "ALTER TABLE x ADD y", "UPDATE x SET a = 1", "5"])
def test_only_a_query_follows_with(statement, caplog):
    error_of(f"WITH x AS (SELECT 1) {statement}")
    assert not caplog.records
