"""Questions and the rows of keys go in; where the application differs from the twin comes out."""

import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from headrace.application import Application
from headrace.errors import HeadraceError, Source
from headrace.testing.driver import START_AT
from headrace.testing.spark_driver import SparkDriver, SparkEngine
from headrace.values import to_json_line
from patterns.drawing import (
    LATENESS,
    Batch,
    Delivery,
    Rows,
    deliveries,
    drawn,
    keyed,
    questions,
    sequences,
)
from patterns.questions import STREAM, Question, to_millis
from patterns.twin import BadSkipError, Row, Skip, TooMuchError, check_effort

Keys: TypeAlias = Mapping[str | None, Rows]
Answer: TypeAlias = tuple[Any, ...]
ByKey: TypeAlias = Mapping[str | None, Counter[Answer]]

_APPLICATION = "patterns.sql"
_REMEMBERS = re.compile(r"\b(COUNT|SUM|AVG|MIN|MAX|CLASSIFIER)\b")
"""What conditions ask for that keeps ways apart, so that all of them are followed, up to a limit."""
_STREAM = f"""\
CREATE STREAM {STREAM} (k STRING, id INT, v INT, at TIMESTAMP, tie INT,
  WATERMARK FOR at AS at - INTERVAL {LATENESS} SECONDS) WITH (connector = 'memory');
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """Questions that are asked of the same rows, and how these rows come."""

    questions: tuple[Question, ...]
    keys: Keys
    delivery: Delivery

    @property
    def arrived(self) -> Keys:
        """The rows of each key as they come."""
        return self.first(len(self.delivery))

    def first(self, batches: int) -> Keys:
        """Return the rows of each key as they come in the first batches."""
        found: dict[str | None, list[Row]] = {key: [] for key in self.keys}
        for batch in self.delivery[:batches]:
            for row in batch.rows:
                found[row["k"]].append(row)
        return {key: tuple(rows) for key, rows in found.items()}

    @property
    def cases(self) -> int:
        """How many answers are compared: one question about one key each."""
        return len(self.questions) * len(self.keys)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What a question gave for a key, against what it should have given; no key if it gave nothing at all."""

    question: Question
    key: str | None
    when: str
    extra: tuple[Answer, ...] = ()
    missing: tuple[Answer, ...] = ()
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"{self.when}: {self.error}"
        rows = [f"  too many: {row}" for row in self.extra] + [f"  missing:  {row}" for row in self.missing]
        return "\n".join([f"{self.key}, {self.when}:", *rows])


def trial(count: int, keys: int, start: int) -> tuple[Trial, list[tuple[Question, str]]]:
    """Return a random trial, the same for the same seed; and the questions that are not planned, with the reasons."""
    rows = keyed(drawn(sequences(), keys, start))
    (delivery,) = drawn(deliveries([row for each in rows.values() for row in each]), 1, start)
    whole = Trial((), rows, delivery)
    asked, refused = planned(list(_chosen(whole.arrived, count, start)))
    return replace(whole, questions=tuple(asked)), refused


def planned(questions_: Sequence[Question]) -> tuple[list[Question], list[tuple[Question, str]]]:
    """Return the questions that are planned, and those that are not, with the reasons."""
    reasons = [(each, refusal(each)) for each in questions_]
    return [each for each, why in reasons if why is None], [(each, why) for each, why in reasons if why is not None]


def _chosen(keys: Keys, count: int, start: int) -> Iterator[Question]:
    """Yield questions that can be answered by trying, most of them such that have an answer."""
    found = 0
    for question in drawn(questions(), count * 4, start):
        fitting = fitted(question, keys.values())
        if fitting is None:
            continue
        answered = sum(bool(fitting.expected(rows)) for rows in keys.values())
        if answered * 6 >= len(keys) or found % 5 == 4:
            yield fitting
            found += 1
        if found == count:
            return


def fitted(question: Question, sequences_: Collection[Rows]) -> Question | None:
    """Return the question, with another skip if that would fail, or None if it has too many ways."""
    try:
        for rows in sequences_:
            if _REMEMBERS.search(" ".join(condition.sql for _, condition in question.conditions)):
                check_effort(question.search, question.ordered(rows))
            answer_for("", question, rows)
    except TooMuchError:
        return None
    except BadSkipError:
        return fitted(replace(question, skip=Skip.PAST_LAST_ROW, skip_to=""), sequences_)
    return question


def answer_for(key: str | None, question: Question, rows: Rows, watermark: datetime | None = None) -> list[Answer]:
    """Return what the twin says, in a form that can be compared."""
    return [_frozen(row) for row in question.expected([{**row, "k": key} for row in rows], watermark)]


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_frozen, value))
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, bool | float):
        return (type(value).__name__, value)  # True is not 1, and 1.0 is not 1
    return value


def refusal(question: Question) -> str | None:
    """Return why a question is not planned, or None if it is."""
    try:
        text = f"{_STREAM}CREATE VIEW q AS {question.sql};"
        Application(directory=Path(tempfile.gettempdir())).add(Source(_APPLICATION, text))
    except HeadraceError as error:
        return str(error)
    return None


def check(trial: Trial, engine: SparkEngine) -> list[Mismatch]:
    """Return the first mismatch of each question and key; where an application dies, its halves are tried."""
    try:
        return _check(trial, engine)
    except HeadraceError as error:
        asked = trial.questions
        if len(asked) == 1:
            return [Mismatch(asked[0], "", "the query died", error=_said(error))]
        middle = len(asked) // 2
        halves = [replace(trial, questions=asked[:middle]), replace(trial, questions=asked[middle:])]
        found = [each for half in halves for each in check(half, engine)]
        return found or [Mismatch(asked[0], "", "only together with others", error=_said(error))]


def _said(error: HeadraceError) -> str:
    """Return what an error says, and where in the operator its cause lies; Spark's stacks are left out."""
    cause: BaseException | None = error
    causes = []
    while cause is not None:
        causes += [line for line in str(cause).splitlines() if re.search(r"Caused by|^\s+at org\.headrace", line)]
        cause = cause.__cause__ or cause.__context__
    return "\n".join([*str(error).splitlines()[:20], *dict.fromkeys(line[:300] for line in causes)][:40])


def _check(trial: Trial, engine: SparkEngine) -> list[Mismatch]:
    views = _views(trial)
    wanted = {name: _wanted(each, trial.arrived) for name, each in views.items()}
    found: dict[tuple[str, str | None], Mismatch] = {}
    with _opened(_STREAM + _defined(views), list(views), engine) as driver:
        for when, batches in _moments(driver, trial.delivery):
            for name, question in views.items():
                due = wanted[name] if batches is None else _due(question, trial, batches)
                for mismatch in _compared(question, when, _by_key(driver.rows(name)), wanted[name], due):
                    found.setdefault((name, mismatch.key), mismatch)
    return list(found.values())


def check_once(trial: Trial) -> list[Mismatch]:
    """Return the mismatches of an application that reads all rows from a file, to its end."""
    views = _views(trial)
    with tempfile.TemporaryDirectory() as folder:
        lines = [to_json_line(row) for batch in trial.delivery for row in batch.rows]
        (Path(folder) / "events.json").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        stream = _STREAM.replace("'memory'", "'files', path = 'events.json'")
        asked = "".join(f"SELECT * FROM {name};\n" for name in views)
        answers = Application(directory=Path(folder)).sql(stream + _defined(views) + asked).run_once()
    found = []
    for question, answered in zip(views.values(), answers, strict=True):
        wanted = _wanted(question, trial.arrived)
        found += _compared(question, "run once", _by_key(answered.rows()), wanted, wanted)
    return found


def _views(trial: Trial) -> dict[str, Question]:
    return {f"q{i}": each for i, each in enumerate(trial.questions)}


def _defined(views: Mapping[str, Question]) -> str:
    return "".join(f"CREATE VIEW {name} AS {each.sql};\n" for name, each in views.items())


def _wanted(question: Question, keys: Keys, watermark: datetime | None = None) -> ByKey:
    return {key: Counter(answer_for(key, question, rows, watermark)) for key, rows in keys.items()}


def _due(question: Question, trial: Trial, batches: int) -> ByKey:
    """Return what must have been given after so many batches, whatever comes behind them."""
    times = [row["at"] for batch in trial.delivery[:batches] for row in batch.rows]
    if not times:
        return {}
    return _wanted(question, trial.first(batches), to_millis(max(times)) - timedelta(seconds=LATENESS))


def _compared(question: Question, when: str, given: ByKey, wanted: ByKey, due: ByKey) -> Iterator[Mismatch]:
    """Yield where more was given than is wanted, or less than is due."""
    nothing: Counter[Answer] = Counter()
    for key in wanted.keys() | given.keys():
        extra = given.get(key, nothing) - wanted.get(key, nothing)
        missing = due.get(key, nothing) - given.get(key, nothing)
        if extra or missing:
            yield Mismatch(question, key, when, tuple(extra.elements()), tuple(missing.elements()))


def _by_key(rows: Sequence[Mapping[str, Any]]) -> ByKey:
    given: dict[str | None, Counter[Answer]] = {}
    for row in rows:
        given.setdefault(row["k"], Counter())[_frozen(tuple(row.values()))] += 1
    return given


@contextmanager
def _opened(text: str, relations: Sequence[str], engine: SparkEngine) -> Iterator[SparkDriver]:
    with tempfile.TemporaryDirectory() as folder:
        driver = engine.open(
            Source(_APPLICATION, text),
            directory=Path(folder),
            relations=relations,
            clock_at=START_AT,
            ingested=(STREAM,),
        )
        with closing(driver):
            yield driver


def _moments(driver: SparkDriver, delivery: Delivery) -> Iterator[tuple[str, int | None]]:
    """Yield a name for each moment at which answers are compared, and how many batches have come; None at the end."""
    for number, batch in enumerate(delivery, 1):
        driver.ingest([(STREAM, [to_json_line(row) for row in batch.rows])])
        if batch.after == "crash":
            driver.crash()
        elif batch.after == "resume":
            driver.stop_and_resume()
        yield f"after batch {number}", number
    driver.drain()
    yield "at the end", None


def at_once(questions_: Sequence[Question], sequences_: Sequence[Rows]) -> Trial:
    """Return the trial in which all rows come in one batch."""
    keys = keyed(sequences_)
    return Trial(tuple(questions_), keys, (Batch(tuple(row for rows in keys.values() for row in rows)),))


def one_by_one(questions_: Sequence[Question], sequences_: Sequence[Rows]) -> Trial:
    """Return the trial in which rows of different times come in different batches."""
    keys = keyed(sequences_)
    rows = [row for each in keys.values() for row in each]
    times = sorted({row["at"] for row in rows})
    batches = (Batch(tuple(row for row in rows if row["at"] == at)) for at in times)
    return Trial(tuple(questions_), keys, tuple(batches))
