"""Reading options: values, and every way in which they can be wrong."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.connectors.options import (
    Needs,
    accepted,
    closest,
    duration_text,
    option,
    option_fields,
    parse_duration,
    read_options,
    sql_literal,
    without_secrets,
)
from headrace.errors import HeadraceError, Span
from headrace.language.statements import Option

WithClause = Callable[[str], tuple[tuple[Option, ...], Span]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One option of every type."""

    path: str = option(doc="Where the rows are.", example="in/*.json")
    format: str = option(doc="The format.", default="json", choices=("json", "csv", "parquet"))
    count: int | None = option(doc="A count.", default=None, example=100, minimum=1, maximum=1000)
    ratio: float = option(doc="A ratio.", default=0.5, minimum=0, maximum=1)
    header: bool = option(doc="A header.", default=True, needs=Needs("format", ("csv",)))
    delimiter: str = option(doc="A delimiter.", default=",", refused=("\\", "|"))
    every: timedelta = option(  # noqa: RUF009 - a field
        doc="An interval.",
        default=timedelta(seconds=1),
        example="5 seconds",
        minimum=timedelta(milliseconds=10),
    )
    since: datetime | None = option(doc="An instant.", default=None, example="2024-01-01T00:00:00Z")  # noqa: RUF009 - a field
    columns: tuple[str, ...] = option(doc="Columns.", default=(), example="a, b")
    compression: str = option(
        doc="The compression.",
        default="none",
        choices=("none", "zstd"),
        needs=Needs("format", ("parquet",), when=("zstd",)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """One option with a name, the others free."""

    rate: int = option(doc="A rate.", default=10)
    expressions: dict[str, str] = option(doc="One expression per column.", rest=True)  # noqa: RUF009 - a field


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """Options of which two are secret."""

    user: str = option(doc="Who connects.", example="alice")
    password: str = option(doc="The password.", example="${PASSWORD}", secret=True)
    pin: int = option(doc="A number.", example=1234, default=0, minimum=0, secret=True)


def read(with_clause: WithClause, clause: str, **more: object) -> Sample:
    options, place = with_clause(clause)
    return read_options(Sample, options, owner="connector sample", owner_span=place, **more)  # type: ignore[arg-type]


def failure(with_clause: WithClause, clause: str, kind: type = Sample) -> HeadraceError:
    options, place = with_clause(clause)
    with pytest.raises(HeadraceError) as caught:
        read_options(kind, options, owner="connector sample", owner_span=place)
    return caught.value


def test_defaults_fill_what_is_not_given(with_clause: WithClause) -> None:
    assert read(with_clause, "path = 'in'") == Sample(path="in")


def test_every_type_is_read(with_clause: WithClause) -> None:
    clause = (
        "path = 'in', format = 'csv', count = 7, ratio = 0.25, header = false, delimiter = ';', "
        "every = '1 minute 30 seconds', since = '2024-01-01T10:00:00+02:00', columns = 'a, b'"
    )
    assert read(with_clause, clause) == Sample(
        path="in",
        format="csv",
        count=7,
        ratio=0.25,
        header=False,
        delimiter=";",
        every=timedelta(seconds=90),
        since=datetime(2024, 1, 1, 8, tzinfo=UTC),
        columns=("a", "b"),
    )


def test_values_may_be_quoted_and_names_in_upper_case(with_clause: WithClause) -> None:
    clause = "PATH = 'in', Format = 'CSV', count = '7', ratio = '1', header = 'False', since = '2024-01-01'"
    assert read(with_clause, clause) == Sample(
        path="in", format="csv", count=7, ratio=1.0, header=False, since=datetime(2024, 1, 1, tzinfo=UTC)
    )


def test_options_known_elsewhere_are_skipped_and_suggested(with_clause: WithClause) -> None:
    elsewhere = frozenset({"connector"})
    assert read(with_clause, "connector = 'sample', path = 'in'", known_elsewhere=elsewhere) == Sample(path="in")
    with pytest.raises(HeadraceError) as caught:
        read(with_clause, "path = 'in', conector = 'sample'", known_elsewhere=elsewhere)
    assert caught.value.hint == 'Did you mean "connector"?'


def test_unknown_option(with_clause: WithClause) -> None:
    error = failure(with_clause, "patth = 'in'")
    assert error.message == 'unknown option "patth" for connector sample'
    assert error.detail == (
        "Options: path, format, count, ratio, header, delimiter, every, since, columns, compression."
    )
    assert error.hint == 'Did you mean "path"?'
    assert error.span is not None
    assert (error.span.text, error.span.column) == ("patth", 28)


def test_unknown_option_that_is_like_no_other(with_clause: WithClause) -> None:
    assert failure(with_clause, "path = 'in', zzz = 1").hint == "Leave it out."


def test_missing_option(with_clause: WithClause) -> None:
    error = failure(with_clause, "format = 'csv'")
    assert error.message == 'missing option "path" for connector sample'
    assert error.detail == "Where the rows are."
    assert error.hint == "Add path = 'in/*.json' to the WITH clause."
    assert error.span is not None
    assert error.span.text == "events"


def test_repeated_option(with_clause: WithClause) -> None:
    error = failure(with_clause, "path = 'in', PATH = 'out'")
    assert error.message == 'option "PATH" is given twice'
    assert error.detail == "It is also on line 1."
    assert error.hint == "Keep one of them."
    assert error.span is not None
    assert error.span.text == "PATH"


COUNT = ("It takes a whole number of at least 1 and at most 1000.", "For example: count = 100.")
RATIO = ("It takes a number of at least 0 and at most 1.", "For example: ratio = 0.5.")
EVERY = ("It takes a duration of at least 10 milliseconds.", "For example: every = '5 seconds'.")
FORMAT = "It takes one of 'json', 'csv' or 'parquet'."
PATH = ("It takes text in quotes.", "For example: path = 'in/*.json'.")
SINCE = ("It takes an instant in ISO 8601.", "For example: since = '2024-01-01T00:00:00Z'.")
COLUMNS = ("It takes names with commas between.", "For example: columns = 'a, b'.")


@pytest.mark.parametrize(
    ("clause", "message", "detail", "hint"),
    [
        ("count = 'many'", "option \"count\" is not a whole number: 'many'", *COUNT),
        ("count = 1.5", 'option "count" is not a whole number: 1.5', *COUNT),
        ("count = true", 'option "count" is not a whole number: true', *COUNT),
        ("count = '1_000'", "option \"count\" is not a whole number: '1_000'", *COUNT),
        ("count = 9223372036854775808", 'option "count" is not a whole number: 9223372036854775808', *COUNT),
        ("count = 0", 'option "count" is out of range: 0', *COUNT),
        ("count = 1001", 'option "count" is out of range: 1001', *COUNT),
        ("ratio = 'nan'", "option \"ratio\" is not a number: 'nan'", *RATIO),
        ("ratio = '1e999'", "option \"ratio\" is not a number: '1e999'", *RATIO),
        ("ratio = 2", 'option "ratio" is out of range: 2', *RATIO),
        (
            "header = 'yes'",
            "option \"header\" is not true or false: 'yes'",
            "It takes true or false.",
            "For example: header = true.",
        ),
        ("every = 5", 'option "every" is not a duration: 5', *EVERY),
        ("every = '5 apples'", "option \"every\" is not a duration: '5 apples'", *EVERY),
        ("every = '1 ms'", "option \"every\" is out of range: '1 ms'", *EVERY),
        ("since = 'yesterday'", "option \"since\" is not an instant in ISO 8601: 'yesterday'", *SINCE),
        ("columns = 'a,,b'", "option \"columns\" is not names with commas between: 'a,,b'", *COLUMNS),
        ("format = 'jso'", "option \"format\" cannot be 'jso'", FORMAT, "Did you mean 'json'?"),
        ("format = 'avro'", "option \"format\" cannot be 'avro'", FORMAT, "For example: format = 'json'."),
        ("path = 5", 'option "path" is not text in quotes: 5', *PATH),
        ("path = ''", 'option "path" is empty', *PATH),
        (
            "delimiter = '|'",
            "option \"delimiter\" cannot be '|'",
            "It takes text in quotes other than '\\\\' or '|'.",
            "For example: delimiter = ','.",
        ),
    ],
)
def test_a_wrong_value_is_marked_at_the_value(
    with_clause: WithClause, clause: str, message: str, detail: str, hint: str
) -> None:
    error = failure(with_clause, clause)
    assert (error.message, error.detail, error.hint) == (message, detail, hint)
    assert error.span is not None
    assert error.span.text == clause.partition(" = ")[2]


def test_a_long_value_is_shortened(with_clause: WithClause) -> None:
    error = failure(with_clause, f"format = '{'x' * 10_000}'")
    assert len(error.message) < 100


def test_an_option_that_does_not_go_with_another(with_clause: WithClause) -> None:
    error = failure(with_clause, "path = 'in', header = false")
    assert error.message == "option \"header\" does not go with format = 'json'"
    assert error.detail == "It works only where format is 'csv'."
    assert error.hint == "Leave it out, or set format = 'csv'."
    assert error.span is not None
    assert error.span.text == "header"


def test_a_value_that_does_not_go_with_another_option(with_clause: WithClause) -> None:
    error = failure(with_clause, "path = 'in', compression = 'zstd'")
    assert error.message == "compression = 'zstd' does not go with format = 'json'"
    assert error.span is not None
    assert error.span.text == "'zstd'"
    assert read(with_clause, "path = 'in', compression = 'none'").compression == "none"
    assert read(with_clause, "path = 'in', format = 'parquet', compression = 'zstd'").compression == "zstd"


def test_the_rest_is_taken_as_text_by_name(with_clause: WithClause) -> None:
    options, place = with_clause("rate = 5, Price = 'value % 7', flag = true, n = 3, x = 0.5")
    found = read_options(Open, options, owner="connector open", owner_span=place)
    assert found == Open(rate=5, expressions={"Price": "value % 7", "flag": "true", "n": "3", "x": "0.5"})


def test_the_rest_is_checked_against_names(with_clause: WithClause) -> None:
    options, place = with_clause("rats = 5")
    with pytest.raises(HeadraceError) as caught:
        read_options(Open, options, owner="connector open", owner_span=place, rest_names=["price"])
    assert caught.value.message == 'unknown option "rats" for connector open'
    assert caught.value.detail == "Options: rate, price."
    assert caught.value.hint == 'Did you mean "rate"?'
    options, place = with_clause("PRICE = '1'")
    found = read_options(Open, options, owner="connector open", owner_span=place, rest_names=["price"])
    assert found.expressions == {"PRICE": "1"}


@pytest.mark.parametrize(
    "clause",
    [
        "password = 'hunter2', usr = 'alice'",
        "passwrod = 'hunter2', user = 'alice'",
        "user = 5, password = 'hunter2'",
        "password = 'hunter2'",
        "user = 'alice', password = 'x', pin = 'hunter2'",
        "user = 'alice', password = 'hunter2', password = 'hunter2'",
        "user = 'alice', password = 'hunter2', pin = -4",
    ],
)
def test_a_secret_is_in_no_error(with_clause: WithClause, clause: str) -> None:
    error = failure(with_clause, clause, Guarded)
    shown = "".join(traceback.format_exception(error)) + repr(error) + str(error.as_dict())
    assert "hunter2" not in shown
    assert "-4" not in shown
    assert "***" in error.report()


def test_a_secret_is_in_no_repr_but_keeps_its_value(with_clause: WithClause) -> None:
    options, place = with_clause("user = 'alice', password = 'hunter2'")
    found = read_options(Guarded, options, owner="connector guarded", owner_span=place)
    assert found.password == "hunter2"
    assert repr(found) == "Guarded(user='alice')"


def test_hiding_secrets_moves_no_place(with_clause: WithClause) -> None:
    options, place = with_clause("password = 'two\nlines',\nuser = 'alice'")
    shown, shown_place = without_secrets(options, place, {"password"})
    assert [each.span.line for each in shown] == [1, 3]
    assert shown[0].value_span.text == "****\n******"
    assert shown[0].value == "two\nlines"
    assert (shown_place.start, shown_place.end) == (place.start, place.end)


@given(st.timedeltas(min_value=timedelta(0)))
@example(timedelta(0))
@example(timedelta.max)
def test_a_duration_reads_as_it_was_written(duration: timedelta) -> None:
    assert parse_duration(duration_text(duration)) == duration


@given(
    st.integers(0, 999),
    st.sampled_from(
        [
            ("us", 1),
            ("microseconds", 1),
            ("ms", 10**3),
            ("millisecond", 10**3),
            ("s", 10**6),
            ("secs", 10**6),
            ("Seconds", 10**6),
            ("min", 60 * 10**6),
            ("MINUTES", 60 * 10**6),
            ("h", 3600 * 10**6),
            ("hours", 3600 * 10**6),
            ("d", 86400 * 10**6),
            ("week", 7 * 86400 * 10**6),
        ]
    ),
    st.sampled_from(["", " ", "  "]),
)
def test_a_duration_is_a_count_and_a_unit(count: int, unit: tuple[str, int], space: str) -> None:
    word, microseconds = unit
    assert parse_duration(f"{count}{space}{word}") == timedelta(microseconds=count * microseconds)


@given(st.integers(0, 999), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_may_be_iso(days: int, hours: int, minutes: int, seconds: int) -> None:
    expected = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    assert parse_duration(f"P{days}DT{hours}H{minutes}M{seconds}S") == expected


@given(st.text())
def test_any_text_is_a_duration_or_none(text: str) -> None:
    found = parse_duration(text)
    assert found is None or found >= timedelta(0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5 seconds", timedelta(milliseconds=500)),
        ("PT0.5S", timedelta(milliseconds=500)),
        ("P1W", timedelta(weeks=1)),
        ("PT90M", timedelta(minutes=90)),
        ("1h30min", timedelta(minutes=90)),
        ("0.1 us", None),
        ("5", None),
        ("-5 seconds", None),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("5 ss", None),
        ("5 mss", None),
        ("999999999999 weeks", None),
        ("", None),
    ],
)
def test_durations_at_the_edges(text: str, expected: timedelta | None) -> None:
    assert parse_duration(text) == expected


def test_what_an_option_takes_in_words() -> None:
    words = {each.name: accepted(each) for each in option_fields(Sample)}
    assert words["every"] == "a duration of at least 10 milliseconds"
    assert words["format"] == "one of 'json', 'csv' or 'parquet'"
    assert words["header"] == "true or false"


def test_literals_hold_on_one_line() -> None:
    assert sql_literal("a'b\\c\n\t") == "'a\\'b\\\\c\\n\\t'"


def test_no_name_is_closest_when_none_is_like_it() -> None:
    assert closest("zzz", ["path"]) is None


def test_a_declaration_without_an_example_is_a_bug() -> None:
    with pytest.raises(TypeError, match="needs an example"):
        option(doc="What?")


def test_a_declaration_of_another_type_is_a_bug() -> None:
    @dataclass(frozen=True)
    class Strange:
        numbers: list[int] = option(doc="Numbers.", example="1")  # noqa: RUF009 - a field

    with pytest.raises(TypeError, match="cannot be of type"):
        option_fields(Strange)
