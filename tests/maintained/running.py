"""Templates and a sequence of batches go in; what differs from the answer from scratch comes out."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.application import Application
from headrace.errors import HeadraceError, Source
from headrace.testing.driver import START_AT
from headrace.testing.spark_driver import SparkDriver, SparkEngine
from maintained import reference
from maintained.oracle import Oracle, unmatched
from maintained.sequences import COLUMNS, Batch
from maintained.templates import TABLES, Template

_APPLICATION = "maintained.sql"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What a template gave after a batch, against what it should have given."""

    template: Template
    batch: int
    extra: tuple[tuple[Any, ...], ...] = ()
    missing: tuple[tuple[Any, ...], ...] = ()
    error: str = ""

    def __str__(self) -> str:
        if self.error:
            return f"{self.template.name}, batch {self.batch}: {self.error}"
        rows = [f"  too many: {row}" for row in self.extra] + [f"  missing:  {row}" for row in self.missing]
        return "\n".join([f"{self.template.name}, batch {self.batch}:", *rows])


def refusal(template: Template) -> str | None:
    """Return why a template is not planned, or None if it is."""
    try:
        text = f"{TABLES}CREATE VIEW {_name(template)} AS {template.sql};"
        Application(directory=Path(tempfile.gettempdir())).add(Source(_APPLICATION, text))
    except HeadraceError as error:
        return error.message
    return None


def _name(template: Template) -> str:
    return f"q_{template.name}"


def expected(template: Template, oracle: Oracle) -> list[tuple[Any, ...]]:
    """Return the rows that a template should give over the tables as they stand."""
    return reference.answer(template, oracle) if template.by_spark else oracle.answer(template)


def check_together(templates: Sequence[Template], sequence: Sequence[Batch], engine: SparkEngine) -> list[Mismatch]:
    """Return the first mismatch of each template that has one; views that share a table are one streaming query."""
    views = "".join(f"CREATE VIEW {_name(each)} AS {each.sql};\n" for each in templates)
    found: dict[str, Mismatch] = {}
    with _opened(TABLES + views, [_name(each) for each in templates], engine) as driver:
        for number, oracle in _states(driver, sequence):
            for each in templates:
                if each.name not in found:
                    given = [tuple(row.values()) for row in driver.rows(_name(each))]
                    extra, missing = unmatched(given, expected(each, oracle))
                    if extra or missing:
                        found[each.name] = Mismatch(each, number, tuple(extra), tuple(missing))
    return list(found.values())


def check_group(templates: Sequence[Template], sequence: Sequence[Batch], engine: SparkEngine) -> list[Mismatch]:
    """Return the first mismatch of each template; where the common query dies, its halves are tried."""
    try:
        return check_together(templates, sequence, engine)
    except HeadraceError as error:
        if len(templates) == 1:
            return [Mismatch(templates[0], len(sequence), error=_said(error))]
        middle = len(templates) // 2
        halves = (templates[:middle], templates[middle:])
        found = [each for half in halves for each in check_group(half, sequence, engine)]
        return found or [Mismatch(templates[0], len(sequence), error=f"only in one query with others: {_said(error)}")]


def _said(error: HeadraceError) -> str:
    """Return what an error says, but for the stacks of Spark's threads."""
    lines = str(error).splitlines()
    return "\n".join(line for line in lines if not line.startswith("\tat "))[:2000]


def check_alone(template: Template, sequence: Sequence[Batch], engine: SparkEngine) -> Mismatch | None:
    """Return the first mismatch of a template in a query of its own, or None."""
    found = check_group([template], sequence, engine)
    return found[0] if found else None


@contextmanager
def _opened(text: str, relations: Sequence[str], engine: SparkEngine) -> Iterator[SparkDriver]:
    with tempfile.TemporaryDirectory() as folder:
        driver = engine.open(
            Source(_APPLICATION, text),
            directory=Path(folder),
            relations=relations,
            clock_at=START_AT,
            ingested=tuple(COLUMNS),
        )
        with closing(driver):
            yield driver


def _states(driver: SparkDriver, sequence: Sequence[Batch]) -> Iterator[tuple[int, Oracle]]:
    """Yield the number of each batch and the tables after it, the driver having taken it in; 0 is before the first."""
    oracle = Oracle()
    with closing(oracle.connection):
        yield 0, oracle
        for number, batch in enumerate(sequence, 1):
            driver.ingest(batch.lines())
            oracle.take(batch)
            if batch.after == "crash":
                driver.crash()
            elif batch.after == "resume":
                driver.stop_and_resume()
            yield number, oracle


def verdict(mismatch: Mismatch, sequence: Sequence[Batch]) -> str:
    """Return a line that says whether Spark agrees with DuckDB after the batch that went wrong."""
    oracle = Oracle()
    for batch in sequence[: mismatch.batch]:
        oracle.take(batch)
    own = reference.answer(mismatch.template, oracle)
    extra, missing = unmatched(own, expected(mismatch.template, oracle))
    return f"Spark gives {own}, DuckDB other rows" if extra or missing else "Spark gives from scratch what is expected"
