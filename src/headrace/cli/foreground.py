"""An application goes in and runs until it is told to stop; its rows and its condition come out meanwhile."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TextIO

from headrace.application import Application
from headrace.cli.failures import INTERRUPTED, complain
from headrace.cli.inspect import warn
from headrace.cli.lines import Lines
from headrace.cli.once import print_answers
from headrace.cli.quiet import start_spark
from headrace.cli.render import Output
from headrace.cli.shown import Shown, shown_outputs
from headrace.cli.signals import Stopping
from headrace.cli.status import Meter, dead_notices, lag_notices, status_line
from headrace.cli.workplace import alone, run_log
from headrace.plan.application import Plan, check_runnable
from headrace.plan.steps import Kind
from headrace.views.store import Change

if TYPE_CHECKING:
    from headrace.spark.progress import Progress

__all__ = ["run_foreground"]

BETWEEN_LINES = timedelta(seconds=5)


class Display(Protocol):
    """Where the rows and the condition of a running application are shown."""

    def take(self, name: str, batch: int, changes: Sequence[Change]) -> None:
        """Show what a batch changed."""

    def tick(self, figures: "Sequence[Progress]", now: datetime) -> None:
        """Show how the outputs are doing."""


@dataclass(slots=True)
class Plain:
    """Rows as lines on stdout, the condition as a line on stderr every few seconds."""

    lines: Lines
    plan: Plan
    meter: Meter = field(default_factory=lambda: Meter(BETWEEN_LINES))
    _told_at: datetime | None = None
    _known_dead: set[str] = field(default_factory=set)
    _known_behind: set[str] = field(default_factory=set)

    def take(self, name: str, batch: int, changes: Sequence[Change]) -> None:
        """Print what a batch changed."""
        self.lines.take(name, batch, changes)

    def tick(self, figures: "Sequence[Progress]", now: datetime) -> None:
        """Print the condition if it is time, and dead records when they are first seen."""
        measured = [self.meter.measure(each, now) for each in figures]
        if self._told_at is None or now - self._told_at >= BETWEEN_LINES:
            if self._told_at is not None:
                for each in measured:
                    complain(status_line(each, now))
            self._told_at = now
        for text in dead_notices(figures, self.plan, self._known_dead):
            complain(text)
        for text in lag_notices(figures, self.plan, self._known_behind):
            complain(f"warning: {text}")


def run_foreground(
    application: Application,
    output: Output,
    *,
    changes: bool,
    fresh: bool,
    seconds: float | None,
    resumes: bool = True,
    stream: TextIO | None = None,
    abandon: Callable[[], None] = lambda: None,
) -> None:
    """Run an application until Ctrl-C, SIGTERM, the end of its time or of its input.

    ``resumes`` says whether there will be a next run to tell the user about; ``stream`` takes rows that are lines, in
    place of stdout; ``abandon`` is called before a second
    Ctrl-C ends this process, which then leaves nothing else behind.
    """
    plan = application.plan
    check_runnable(plan)
    if application.state is not None and "://" not in application.state:
        application.state = os.path.abspath(application.state)
    shown = {each.name: each for each in shown_outputs(plan, changes=changes)}
    _warn(application, shown)
    if not plan.outputs:
        print_answers(plan, output)
        return
    state = application.state_folder()
    stopping = Stopping(lambda: complain("stopping after this batch; press Ctrl-C again to stop at once"))
    try:
        with stopping.listening(), alone(state):
            if fresh:
                application.forget()
            with run_log(state) as log:
                _say("starting Spark ...")
                start_spark(application.session, log)
                stopping.listen()
                print_answers(plan, output)
                _run(application, shown, output, stream or sys.stdout, stopping, seconds)
    except KeyboardInterrupt:
        if not stopping.signalled:  # it came while Spark was starting and had taken Ctrl-C over
            complain("stopped before it started")
            return
        complain("stopped at once; the next run takes up the batch that was under way again" if resumes else "stopped")
        sys.stdout.flush()
        abandon()
        os._exit(INTERRUPTED)  # Spark would wait for its batch
    if resumes and any(each.relation.kind is not Kind.STATIC for each in plan.outputs):
        complain(f"stopped; the next run resumes from {state}")


def _run(
    application: Application,
    shown: dict[str, Shown],
    output: Output,
    stream: TextIO,
    stopping: Stopping,
    seconds: float | None,
) -> None:
    with _display(application, shown, output, stream, stopping) as display:
        ends_at: datetime | None = None

        def tick(figures: "list[Progress]") -> None:
            now = _now()
            display.tick(figures, now)
            if ends_at is not None and now >= ends_at:
                stopping.event.set()

        try:
            if not stopping.event.is_set():
                application.start(display.take)
                ends_at = None if seconds is None else _now() + timedelta(seconds=seconds)
                application.wait(stopping.event, tick)
        finally:
            application.stop()


@contextmanager
def _display(
    application: Application, shown: dict[str, Shown], output: Output, stream: TextIO, stopping: Stopping
) -> Iterator[Display]:
    if output == "table" and sys.stdout.isatty():
        from headrace.cli.live import Live

        live = Live(application.name, application.plan, shown, application.remembered)
        stopping.told = live.say_stopping
        with live.running():
            yield live
    else:
        yield Plain(Lines(shown, output, closed=stopping.event.set, stream=stream), application.plan)


def _warn(application: Application, shown: dict[str, Shown]) -> None:
    warn(application.plan)
    for each in shown.values():
        if each.is_ordered_late:
            complain(
                f"warning: {each.name}: ORDER BY needs rows that end, so they are printed as they change; "
                "--once puts them in order"
            )


def _say(text: str) -> None:
    if sys.stderr.isatty():
        complain(text)


def _now() -> datetime:
    return datetime.now(UTC)
