"""Templates and a sequence of batches go in; what differs from the answer from scratch comes out."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from headrace.application import Application
from headrace.errors import HeadraceError, Source
from headrace.testing.driver import START_AT
from headrace.testing.spark_driver import SparkDriver, SparkEngine
from maintained.oracle import Oracle, unmatched
from maintained.sequences import COLUMNS, Batch
from maintained.templates import TABLES, Template

TOGETHER = "together"
"""The view that unites the rows of many templates, so that one streaming query computes them all."""
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
        Application(directory=Path(tempfile.gettempdir())).add(Source(_APPLICATION, _view(template)))
    except HeadraceError as error:
        return error.message
    return None


def _view(template: Template) -> str:
    return f"{TABLES}CREATE VIEW q_{template.name} AS {template.sql};\n"


def _columns(template: Template) -> tuple[str, ...]:
    loaded = Application(directory=Path(tempfile.gettempdir())).add(Source(_APPLICATION, _view(template)))
    return loaded.plan.relation(f"q_{template.name}").names


def check_together(templates: Sequence[Template], sequence: Sequence[Batch], engine: SparkEngine) -> list[Mismatch]:
    """Return the first mismatch of each template that has one; all templates are one streaming query."""
    views = "".join(f"CREATE VIEW q_{each.name} AS {each.sql};\n" for each in templates)
    columns = {each.name: _columns(each) for each in templates}
    parts = " UNION ALL ".join(
        f"SELECT '{each.name}' AS template, "
        f"to_json(struct({', '.join(columns[each.name])}), map('ignoreNullFields', 'false')) AS row FROM q_{each.name}"
        for each in templates
    )
    text = f"{TABLES}{views}CREATE VIEW {TOGETHER} AS {parts};\n"
    found: dict[str, Mismatch] = {}
    with _opened(text, [TOGETHER], engine) as driver:
        for number, oracle in _states(driver, sequence):
            given: dict[str, list[tuple[Any, ...]]] = {each.name: [] for each in templates}
            for row in driver.rows(TOGETHER):
                values = json.loads(row["row"], parse_float=_number)
                given[row["template"]].append(tuple(values[name] for name in columns[row["template"]]))
            for each in templates:
                if each.name not in found:
                    expected = [tuple(map(_as_json, row)) for row in oracle.answer(each)]
                    extra, missing = unmatched(given[each.name], expected)
                    if extra or missing:
                        found[each.name] = Mismatch(each, number, tuple(extra), tuple(missing))
    return list(found.values())


def check_group(templates: Sequence[Template], sequence: Sequence[Batch], engine: SparkEngine) -> list[Mismatch]:
    """Return the first mismatch of each template; where the common query dies, each is tried by itself."""
    try:
        return check_together(templates, sequence, engine)
    except HeadraceError as error:
        alone = [found for each in templates if (found := check_alone(each, sequence, engine)) is not None]
        return alone or [Mismatch(templates[0], 0, error=f"only in one query with others: {error.message}")]


def check_alone(template: Template, sequence: Sequence[Batch], engine: SparkEngine) -> Mismatch | None:
    """Return the first mismatch of a template in a query of its own, or None."""
    name = f"q_{template.name}"
    number = -1
    try:
        with _opened(_view(template), [name], engine) as driver:
            for number, oracle in _states(driver, sequence):  # noqa: B007 - the last one is reported
                given = [tuple(row.values()) for row in driver.rows(name)]
                extra, missing = unmatched(given, oracle.answer(template))
                if extra or missing:
                    return Mismatch(template, number, tuple(extra), tuple(missing))
    except HeadraceError as error:
        return Mismatch(template, number + 1, error=f"{error.message}: {error.detail}")
    return None


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


def _number(text: str) -> float | Decimal:
    return float(text) if "e" in text.lower() else Decimal(text)


def _as_json(value: Any) -> Any:
    """Return a value of DuckDB as Spark's JSON has it."""
    if isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):  # noqa: PLR0124 - NaN
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"  # noqa: PLR0124 - NaN
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds") + "Z"
    return [_as_json(each) for each in value] if isinstance(value, list) else value
