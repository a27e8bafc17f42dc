"""An application goes in, runs to the end of its input, and its final rows come out on stdout."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from headrace.application import Application
from headrace.cli.failures import complain
from headrace.cli.inspect import warn
from headrace.cli.quiet import start_spark, temporary_log
from headrace.cli.render import Output, print_rows
from headrace.cli.shown import Shown, shown_outputs
from headrace.cli.signals import terminable
from headrace.cli.status import dead_notices
from headrace.plan.application import Answer, Plan, check_runnable
from headrace.views.answered import Answered

__all__ = ["Result", "print_answers", "print_results", "run_once"]


@dataclass(frozen=True, slots=True)
class Result:
    """Rows to print and their columns; ``shown`` is where they come from, unless a statement answered."""

    columns: tuple[str, ...]
    rows: Sequence[dict[str, Any]]
    shown: Shown | None = None


def run_once(application: Application, output: Output, *, changes: bool) -> None:
    """Run an application to the end of its input; print nothing before all of it has succeeded."""
    plan = application.plan
    check_runnable(plan)
    results = [_of_answer(answer) for answer in plan.answers]
    shown = shown_outputs(plan, changes=changes)
    warn(plan)
    if plan.outputs:
        with terminable(), temporary_log() as log:
            start_spark(application.session, log)
            answered = {each.output.name: each for each in application.run_once()}
            results += [_of_output(each, answered[each.name], changes) for each in shown]
        for text in dead_notices(application.progress(), plan):
            complain(text)
    print_results(results, output, sys.stdout)


def print_results(results: Sequence[Result], output: Output, stream: TextIO) -> None:
    """Write results one after the other; tables have an empty line between them and a name above."""
    several = len(results) > 1
    for number, result in enumerate(results):
        if number and output != "json":
            stream.write("\n")
        if output != "table":
            print_rows(result.rows, result.columns, output, stream)
            continue
        shown = result.shown
        if several and shown is not None:
            stream.write(f"{shown.name}\n")
        if shown is None and result.columns == ("plan",):
            stream.writelines(f"{row['plan']}\n" for row in result.rows)
            continue
        rows = result.rows if shown is None else shown.in_table(result.rows)
        print_rows(rows, result.columns, output, stream)
        if len(rows) < len(result.rows):
            stream.write(f"... of {len(result.rows)} rows\n")


def print_answers(plan: Plan, output: Output) -> None:
    """Print what SHOW, DESCRIBE and EXPLAIN gave."""
    print_results([_of_answer(answer) for answer in plan.answers], output, sys.stdout)
    sys.stdout.flush()


def _of_answer(answer: Answer) -> Result:
    return Result(answer.columns, [dict(zip(answer.columns, row, strict=True)) for row in answer.rows])


def _of_output(shown: Shown, answered: Answered, changes: bool) -> Result:
    if not changes:
        return Result(answered.columns, answered.rows(), shown)
    return Result(shown.columns, [row for _, batch in answered.changes() for row in shown.rows(batch)], shown)
