from datetime import UTC, datetime
from pathlib import Path

import pytest

from headrace.errors import HeadraceError, Source
from headrace.testing.directives import (
    At,
    Changes,
    Crash,
    Drain,
    Explain,
    Ingest,
    Rows,
    Sql,
    WantedError,
)
from headrace.testing.files import format_file, parse_file, read_file, with_body, write_file

EVERYTHING = """# a comment
# title: all of it
sql
CREATE STREAM clicks (page STRING);

SELECT 1;
----
# comments may stand before any directive
ingest clicks
{"page": "/a"}
not json, which is for clicks.dead
----
ingest+ other
----
at 2024-01-01T12:00:00+02:00
----
drain
----
crash
----

rows views
{"page": "/a", "n": 1.50}
----
rows exactly `my view`.late
----
changes views
{"n": 1, "_change": "insert"}
--
{"n": 1, "_change": "delete"}
----
explain views
  a plan
====
application app.sql
----
error
error: no such thing
"""


def wrong(text: str) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        parse_file(Source("x.test", text))
    return caught.value


def test_every_directive_is_read() -> None:
    first, second = parse_file(Source("dir/all.test", EVERYTHING)).cases
    assert first.title == "all of it"
    assert [block.directive for block in first.blocks] == [
        Sql(),
        Ingest("clicks"),
        Ingest("other", joined=True),
        At(datetime(2024, 1, 1, 10, tzinfo=UTC)),
        Drain(),
        Crash(),
        Rows("views"),
        Rows("`my view`.late", exactly=True),
        Changes("views"),
        Explain("views"),
    ]
    assert first.blocks[0].body == "CREATE STREAM clicks (page STRING);\n\nSELECT 1;\n"
    assert second.title == "all 2"
    assert second.blocks[0].directive.path.text == "app.sql"  # type: ignore[union-attr]
    assert second.blocks[1].directive == WantedError()
    assert second.blocks[1].line == EVERYTHING.count("\n") - 1


@pytest.mark.parametrize(
    "text",
    [
        EVERYTHING,
        EVERYTHING.replace("\n", "\r\n"),
        "\ufeff" + EVERYTHING,
        "sql\nx\n----\n",
        "sql\nx\n----\n\n\n",
        "sql",
        "\n\nsql\nx\n----  \ndrain",
    ],
)
def test_formatting_gives_back_the_text(text: str) -> None:
    assert format_file(parse_file(Source("x.test", text))) == text


def test_only_the_body_changes() -> None:
    file = parse_file(Source("x.test", "sql\nx\n----\nrows v\n{}\n\n----\n# c\nrows w"))
    case = file.cases[0]
    blocks = (
        case.blocks[0],
        with_body(case.blocks[1], ['{"n": 1}', '{"n": 2}']),
        with_body(case.blocks[2], ["{}"]),
    )
    changed = type(file)(file.source, (type(case)(case.title, blocks),), file.tail)
    assert format_file(changed) == ('sql\nx\n----\nrows v\n{"n": 1}\n{"n": 2}\n\n----\n# c\nrows w\n{}\n')


def test_a_body_cannot_hold_a_separator() -> None:
    block = parse_file(Source("x.test", "sql\n----\nexplain v\n")).cases[0].blocks[1]
    with pytest.raises(HeadraceError, match="would end the block"):
        with_body(block, ["a", "----"])


def test_reading_and_writing(tmp_path: Path) -> None:
    path = tmp_path / "a.test"
    path.write_bytes(b"sql\r\nx\xc3\xa4\r\n")
    file = read_file(path)
    write_file(file)
    assert path.read_bytes() == b"sql\r\nx\xc3\xa4\r\n"
    path.write_bytes(b"sql\n\xff")
    with pytest.raises(HeadraceError, match="not UTF-8"):
        read_file(path)
    with pytest.raises(HeadraceError, match="cannot read"):
        read_file(tmp_path / "none.test")


@pytest.mark.parametrize(
    ("text", "message", "place", "hint"),
    [
        ("", "x.test has no test case", None, "Start with"),
        ("# only\n", "block has no directive", "# only", None),
        ("sql\n----\n----\ndrain", "block has no directive", "----", None),
        ("sql\n====\n# only\n", "block has no directive", "====", None),
        ("sql\n----\nrwos v", 'unknown directive "rwos"', "rwos", 'Did you mean "rows"?'),
        ("sql\n----\nROWS v", 'unknown directive "ROWS"', "ROWS", 'Did you mean "rows"?'),
        ("sql\n----\nxyz", 'unknown directive "xyz"', "xyz", "The directives are application, sql"),
        ("sql\n----\nrows", "rows needs NAME", "rows", "Write it as: rows NAME."),
        ("sql\n----\nrows  exactly", "rows exactly needs NAME", "rows  exactly", None),
        ("sql\n----\nrows exacty v", 'unknown word "exacty"', "exacty", 'Did you mean "exactly"?'),
        ("sql\n----\ningest a b c", "ingest takes one name", "b c", "Write it as: ingest NAME."),
        ("sql\n----\ndrain all", "drain takes no argument", "all", "Write it as: drain."),
        ("application", "application needs PATH", "application", None),
        ("sql\n----\nat noon", '"noon" is not an instant', "noon", "2024-01-01T10:00:00Z"),
        ("sql\n----\nat 2024-01-01T10:00", 'instant "2024-01-01T10:00" has no time zone', None, None),
        ("sql\n----\ndrain\n\n  rows v", "drain takes no body", "rows v", "Separate blocks"),
        ("rows v", "the case has no application", "rows v", "Let its first block be"),
        ("sql\n----\nsql", "the case has its application already", "sql", "Separate cases"),
        ("sql\n----\ningest+ a", "ingest+ has no batch to join", "ingest+ a", None),
        ("sql\n----\nerror\n----\ndrain", "error must be the last block of its case", "error", None),
        (
            "sql\n----\nat 2024-01-02T00:00Z\n----\nat 2024-01-01T00:00Z",
            "the clock cannot go back",
            "at 2024-01-01T00:00Z",
            None,
        ),
        ("sql\n----\nrows v\n{'a': 1}", "not a JSON object: expecting property name", "'a': 1}", None),
        ("sql\n----\nrows v\n\n[1]", "not a JSON object: [1] is another value", "[1]", None),
        ('sql\n----\nrows v\n{"a": NaN}', 'NaN must be written "NaN"', "NaN}", None),
        ('sql\n----\nrows v\n{"a": 1, "a": 2}', "a name occurs twice", '{"a": 1, "a": 2}', None),
        ('sql\n----\nrows v\n{"a": 1', "not a JSON object: expecting ',' delimiter", "1", None),
        ('sql\n----\nrows v\n{"a": ' + "1" * 5000 + "}", "not a JSON object: Exceeds the limit", None, None),
        ('sql\n----\nchanges v\n{"a": 1}', "a change needs _change", '{"a": 1}', '"_change": "insert"'),
        ("sql\n----\nrows v\n--", "not a JSON object", "--", None),
    ],
)
def test_a_mistake_is_an_error_at_its_place(text: str, message: str, place: str | None, hint: str | None) -> None:
    error = wrong(text)
    assert message in error.message
    if place is not None:
        assert error.span is not None
        assert error.span.text == place
    if hint is not None:
        assert hint in (error.hint or "")


def test_the_last_of_equal_words_is_marked() -> None:
    error = wrong("sql\n----\nsql")
    assert error.span is not None
    assert (error.span.line, error.span.column) == (3, 1)
