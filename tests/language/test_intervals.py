"""Intervals mean durations, and durations are written as intervals that mean them."""

from datetime import timedelta

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError, Source, Span
from headrace.language.dialect import Headrace
from headrace.language.intervals import format_duration, format_interval, interval

SPAN = Span(Source("app.sql", ""), 0, 0)


def duration(text):
    return interval(sqlglot.parse_one(f"SELECT {text}", read=Headrace).selects[0], SPAN)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTERVAL 5 SECONDS", timedelta(seconds=5)),
        ("INTERVAL '5' SECOND", timedelta(seconds=5)),
        ("INTERVAL '1 minute'", timedelta(minutes=1)),
        ("INTERVAL '1 minute 30 seconds'", timedelta(seconds=90)),
        ("INTERVAL 1 MINUTE 30 SECONDS", timedelta(seconds=90)),
        ("INTERVAL 1 DAY 2 HOURS 3 MINUTES 4 SECONDS", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("INTERVAL '1.5' SECOND", timedelta(seconds=1.5)),
        ("INTERVAL 250 MILLISECONDS", timedelta(milliseconds=250)),
        ("INTERVAL 7 MICROSECONDS", timedelta(microseconds=7)),
        ("INTERVAL 2 WEEKS", timedelta(weeks=2)),
        ("INTERVAL -5 SECONDS", timedelta(seconds=-5)),
        ("-INTERVAL 5 SECONDS", timedelta(seconds=-5)),
        ("INTERVAL '-5 seconds'", timedelta(seconds=-5)),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("INTERVAL '-02:03' HOUR TO MINUTE", -timedelta(hours=2, minutes=3)),
    ],
)
def test_an_interval_is_a_duration(text, expected):
    assert duration(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INTERVAL 1 MONTH", "no fixed length"),
        ("INTERVAL '2 years'", "no fixed length"),
        ("INTERVAL '1-2' YEAR TO MONTH", "no fixed length"),
        ("INTERVAL 'soon'", "is no interval"),
        ("INTERVAL a SECONDS", "must be a constant"),
        ("5", "expected an interval"),
        ("INTERVAL '0.0000001' SECOND", "whole number of microseconds"),
        ("INTERVAL 99999999999999 DAYS", "too long"),
        ("INTERVAL 'x' SECOND", "is no number"),
        ("INTERVAL '25' HOUR TO SECOND", "is no interval"),
    ],
)
def test_what_has_no_fixed_length_is_an_error(text, message):
    with pytest.raises(HeadraceError, match=message):
        duration(text)


@given(st.timedeltas(timedelta(days=-900000), timedelta(days=900000)))
def test_a_written_duration_is_read_back(value):
    assert duration(format_interval(value)) == value


def test_a_duration_is_written_for_people():
    assert format_duration(timedelta(0)) == "0 seconds"
    assert format_duration(timedelta(hours=2, seconds=1)) == "2 hours 1 second"
