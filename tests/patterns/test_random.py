"""Random questions about random rows, answered by the application and by the twin; the long form asks many more."""

from datetime import timedelta

import pytest

from headrace.errors import Source
from headrace.language.pattern_parser import parse_pattern
from headrace.language.patterns import format_pattern
from headrace.values import to_json_line
from patterns.cases import HARD, ROWS
from patterns.drawing import BEGAN_AT, Batch, drawn, keyed, patterns, questions
from patterns.long import fewer, main, size
from patterns.questions import smaller
from patterns.running import Trial, check, check_once, fitted, planned, trial

SEED = 20240101


def _check(whole, engine):
    _agreed(whole, check(whole, engine))


def _agreed(whole, mismatches):
    shown = [
        f"{each}\n{each.question.sql}\n" + "\n".join(map(to_json_line, whole.arrived.get(each.key, ())))
        for each in mismatches[:5]
    ]
    assert not mismatches, "\n\n".join([f"{len(mismatches)} of {whole.cases} cases", *shown])


def test_a_pattern_is_read_as_it_was_written():
    for pattern in drawn(patterns(), 80, SEED):
        text = format_pattern(pattern)
        assert parse_pattern(Source("test", text), 0, len(text)) == pattern


def test_questions_are_planned():
    _, refused = planned([*HARD, *drawn(questions(), 60, SEED)])
    unforeseen = [(question, why) for question, why in refused if "would always go to the first row" not in why]
    assert not unforeseen, "\n\n".join(f"{question.sql}\n{why}" for question, why in unforeseen)
    assert len(refused) < 6


def test_the_hard_cases_can_be_answered_by_trying():
    assert [each for each in HARD if fitted(each, ROWS) != each] == []


def test_most_questions_have_answers():
    whole, _ = trial(10, 10, SEED)
    answered = sum(bool(each.expected(rows)) for each in whole.questions for rows in whole.arrived.values())
    assert answered * 4 > whole.cases


def test_most_answers_are_due_before_the_end():
    whole, _ = trial(10, 10, SEED)
    last = max(row["at"] for rows in whole.arrived.values() for row in rows)
    due = sum(len(each.expected(rows, last)) for each in whole.questions for rows in whole.arrived.values())
    every = sum(len(each.expected(rows)) for each in whole.questions for rows in whole.arrived.values())
    assert every // 2 < due < every


def test_what_comes_is_never_too_late():
    whole, _ = trial(1, 30, SEED)
    latest = None
    for batch in whole.delivery:
        if latest is not None:
            assert all((latest - row["at"]).total_seconds() < 10 for row in batch.rows)
        latest = max([row["at"] for row in batch.rows] + ([latest] if latest else []), default=None)
    assert sum(len(batch.rows) for batch in whole.delivery) == sum(map(len, whole.keys.values()))


def test_a_smaller_failure_is_smaller():
    (question,) = drawn(questions(), 1, SEED)
    rows = max(ROWS, key=len)
    assert all(len(each) < len(rows) for each in fewer(rows))
    assert any(size(each, rows) < size(question, rows) for each in smaller(question))


@pytest.mark.spark
@pytest.mark.parametrize("asked", [HARD[::2], HARD[1::2]], ids=["one half", "the other half"])
def test_the_hard_cases(asked, engine):
    keys = keyed(ROWS)
    rows = [row for each in keys.values() for row in each]
    soon = BEGAN_AT + timedelta(seconds=12)
    first = Batch(tuple(row for row in rows if row["at"] < soon), "crash")
    _check(Trial(asked, keys, (first, Batch(tuple(row for row in rows if row["at"] >= soon)))), engine)


@pytest.mark.spark
def test_random_questions(engine):
    whole, _ = trial(6, 25, SEED)
    _check(whole, engine)


@pytest.mark.spark
def test_random_questions_to_the_end_of_a_file(engine):
    whole, _ = trial(6, 25, SEED + 1)
    _agreed(whole, check_once(whole))


@pytest.mark.long
@pytest.mark.spark
def test_many_random_questions(engine):
    assert main(["--cases", "450", "--seed", "77"], engine) == 0
