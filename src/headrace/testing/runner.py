"""Cases and an engine go in; what each case gave, straight and resumed, comes out."""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from headrace.errors import HeadraceError, Source
from headrace.language import fill
from headrace.testing.checks import Difference, check_changes, check_error, check_rows, check_text
from headrace.testing.directives import (
    ApplicationFile,
    At,
    Changes,
    Crash,
    Drain,
    Explain,
    Ingest,
    Rows,
    WantedError,
)
from headrace.testing.driver import START_AT, Driver, Engine
from headrace.testing.expected import expected_batches, expected_rows
from headrace.testing.files import Block, Case, CaseFile, format_file, with_body, write_file

__all__ = ["MODES", "CaseResult", "Failure", "Mode", "run_case", "run_files"]

Mode: TypeAlias = Literal["straight", "resumed"]
MODES: tuple[Mode, ...] = ("straight", "resumed")


@dataclass(frozen=True, slots=True)
class Failure:
    """A block that did not pass: in which run, where, why, and the body that would have passed."""

    mode: Mode
    line: int
    directive: str
    diff: str
    accepted: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What came of a case; ``rewritten`` counts the blocks whose new rows were accepted."""

    file: str
    title: str
    failures: tuple[Failure, ...]
    seconds: float
    rewritten: int = 0

    @property
    def passed(self) -> bool:
        """Whether every block of the case passed in every run."""
        return not self.failures


def run_files(
    files: Sequence[CaseFile],
    engine: Engine,
    *,
    rewrite: bool = False,
    timer: Callable[[], float] = time.perf_counter,
) -> Iterator[CaseResult]:
    """Yield the result of each case as it ends; with ``rewrite``, write accepted rows into the files."""
    for file in files:
        cases = []
        for case in file.cases:
            result, after = run_case(file.source.name, case, engine, rewrite=rewrite, timer=timer)
            cases.append(after)
            yield result
        changed = replace(file, cases=tuple(cases))
        if format_file(changed) != file.source.text:
            write_file(changed)


def run_case(
    file: str,
    case: Case,
    engine: Engine,
    *,
    modes: Sequence[Mode] = MODES,
    rewrite: bool = False,
    timer: Callable[[], float] = time.perf_counter,
) -> tuple[CaseResult, Case]:
    """Run a case straight, and if it is fed also resumed; return the result and the case as rewritten.

    With ``rewrite`` the rows of the straight run are accepted, and the resumed run must give the same.
    """
    started = timer()
    is_fed = any(isinstance(block.directive, Ingest) for block in case.blocks)
    failures = _attempt(file, case, engine, "straight") if "straight" in modes or not is_fed else []
    rewritten = 0
    if rewrite:
        accepted = {found.line: found.accepted for found in failures if found.accepted is not None}
        case = replace(
            case,
            blocks=tuple(
                with_body(block, accepted[block.line]) if block.line in accepted else block for block in case.blocks
            ),
        )
        failures = [found for found in failures if found.accepted is None]
        rewritten = len(accepted)
    if "resumed" in modes and is_fed:
        failures += _attempt(file, case, engine, "resumed")
    return CaseResult(file, case.title, tuple(failures), timer() - started, rewritten), case


def _attempt(file: str, case: Case, engine: Engine, mode: Mode) -> list[Failure]:
    """Return the failures of one run; an error ends it, unless the next block wants the error."""
    failures: list[Failure] = []

    def failed(block: Block, difference: Difference | None) -> None:
        if difference is not None:
            failures.append(Failure(mode, block.line, block.span.text, difference.diff, difference.accepted))

    steps = list(_steps(case.blocks))
    with ExitStack() as stack:
        driver: Driver | None = None
        for step, following in zip(steps, [*steps[1:], []], strict=True):
            try:
                if driver is None:
                    driver = stack.enter_context(closing(_open(file, case, engine)))
                else:
                    failed(step[0], _perform(step, driver, mode))
            except HeadraceError as error:
                if following and isinstance(following[0].directive, WantedError):
                    failed(following[0], check_error(following[0].body, error))
                else:
                    failed(step[0], Difference(error.report()))
                break
            except Exception:
                # A bug, or what Spark threw: this case is lost, and the report must show why.
                failed(step[0], Difference(traceback.format_exc().rstrip()))
                break
    return failures


def _steps(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield the blocks one by one, but those of one batch together."""
    step: list[Block] = []
    for block in blocks:
        if step and not (isinstance(block.directive, Ingest) and block.directive.joined):
            yield step
            step = []
        step.append(block)
    if step:
        yield step


def _open(file: str, case: Case, engine: Engine) -> Driver:
    application, directory = _application(Path(file).parent, case.blocks[0])
    directives = [block.directive for block in case.blocks]
    names = [directive.name for directive in directives if isinstance(directive, (Rows, Changes))]
    return engine.open(
        application,
        directory=directory,
        relations=tuple(dict.fromkeys(names)),
        clock_at=next((found.instant_at for found in directives if isinstance(found, At)), START_AT),
        ingested=tuple({directive.stream for directive in directives if isinstance(directive, Ingest)}),
    )


def _application(folder: Path, block: Block) -> tuple[Source, Path]:
    """Return the text of the application under test and the folder from which its paths start."""
    if not isinstance(block.directive, ApplicationFile):
        # Empty lines stand for what is before the body, so that errors name the test file's own lines.
        before = block.body_span.line - 1
        return Source(block.span.source.name, "\n" * before + block.body), folder
    path = folder / block.directive.path.text
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise HeadraceError(f"cannot read {path}", detail=f"{error.strerror}.", span=block.directive.path) from error
    except UnicodeDecodeError as error:
        raise HeadraceError(f"{path} is not UTF-8 text", span=block.directive.path) from error
    return fill(text, str(path), os.environ), path.parent


def _perform(step: Sequence[Block], driver: Driver, mode: Mode) -> Difference | None:
    """Do what the blocks of one step say; return how a block that wants something was not satisfied."""
    block = step[0]
    match block.directive:
        case Ingest():
            driver.ingest([_records(part) for part in step])
            if mode == "resumed":
                driver.stop_and_resume()
        case At(instant_at):
            driver.set_clock(instant_at)
        case Drain():
            driver.drain()
        case Crash():
            driver.crash()
        case Rows(name, exactly):
            wanted = expected_rows(block.body, block.body_span)
            return check_rows(name, wanted, driver.rows(name), exactly=exactly)
        case Changes(name):
            batches = expected_batches(block.body, block.body_span)
            return check_changes(name, batches, driver.changes(name))
        case Explain(name):
            return check_text(block.body, driver.explain(name))
        case WantedError():
            return Difference("there was no error")
        case _:
            raise TypeError(f"{block.directive} cannot be performed")
    return None


def _records(block: Block) -> tuple[str, tuple[str, ...]]:
    """Return the stream and the lines of an ingest block as they are, valid or not, but for blank ones."""
    if not isinstance(block.directive, Ingest):
        raise TypeError(f"{block.directive} has no records")
    lines = (line.removesuffix("\r") for line in block.body.split("\n"))
    return block.directive.stream, tuple(line for line in lines if line.strip())
