"""Which columns a format can carry."""

import pytest
from sqlglot import exp

from headrace.connectors.formats import FILE_FORMATS, FORMATS, SOCKET_FORMATS, check_format, format_named
from headrace.errors import HeadraceError, Source, Span

SPAN = Span(Source("app.sql", "format = 'csv'"), 9, 14)


def columns(**types: str) -> list[tuple[str, exp.DataType]]:
    return [(name, exp.DataType.build(written, dialect="spark")) for name, written in types.items()]


def failure(format: str, *, writing: bool = False, **types: str) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        check_format(format, columns(**types), SPAN, writing=writing)
    assert caught.value.span == SPAN
    return caught.value


@pytest.mark.parametrize("format", ["json", "parquet"])
@pytest.mark.parametrize("writing", [True, False])
def test_formats_for_every_type(format: str, writing: bool) -> None:
    found = columns(a="ARRAY<INT>", m="MAP<STRING, INT>", s="STRUCT<x: INT>", v="VARIANT", t="TIMESTAMP")
    check_format(format, found, SPAN, writing=writing)


def test_csv_takes_plain_columns() -> None:
    check_format("csv", columns(a="INT", b="STRING", c="DECIMAL(10, 2)", d="TIMESTAMP", e="BINARY"), SPAN)


@pytest.mark.parametrize("written", ["ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<x: INT>"])
def test_csv_takes_no_nested_column(written: str) -> None:
    error = failure("csv", id="INT", nested=written)
    assert error.message == f'column "nested" of type {written} does not fit format csv'
    assert error.detail is not None
    assert error.detail.startswith("Format csv carries: columns of plain types")
    assert error.hint == "Choose format = 'json' or 'parquet', or declare it STRING and use from_json."
    assert failure("csv", writing=True, nested=written).hint == (
        "Choose format = 'json' or 'parquet', or write the column as text with to_json."
    )


def test_csv_reads_variants_but_writes_none() -> None:
    check_format("csv", columns(v="VARIANT"), SPAN)
    assert failure("csv", writing=True, v="VARIANT").message == ('column "v" of type VARIANT does not fit format csv')


def test_text_takes_one_string() -> None:
    check_format("text", columns(line="STRING"), SPAN)
    check_format("text", columns(line="STRING"), SPAN, writing=True)


def test_text_takes_no_second_column() -> None:
    error = failure("text", a="STRING", b="STRING")
    assert error.message == "format text takes exactly one column, not 2"
    assert error.detail == 'A line of text fills one STRING column; the columns here: "a", "b".'
    assert error.hint == "Keep one STRING column and compute the others from it, or choose another format."
    assert failure("text").detail == "A line of text fills one STRING column; the columns here: none."


def test_text_takes_no_other_type() -> None:
    error = failure("text", n="BIGINT")
    assert error.message == 'column "n" of type BIGINT does not fit format text'
    assert error.detail == "A line of text fills one STRING column."
    assert error.hint == 'Make "n" a STRING, and compute what you need from it.'


def test_every_format_of_a_connector_is_known() -> None:
    for name in (*FILE_FORMATS, *SOCKET_FORMATS):
        assert format_named(name) in FORMATS
