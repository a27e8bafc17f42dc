"""The process of one job: its folder goes in, a running application and word of how it is doing come out.

``python -m headrace.jobs.driver FOLDER`` runs what ``launch.json`` says. It holds the lock of the folder for its whole
life, so a second one ends at once; it needs nobody: the server that started it may end, and another may find it.
"""

import logging
import os
import shutil
import signal
import sys
import threading
import time
from collections import ChainMap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.errors import HeadraceError, JobFailed, PlanError
from headrace.jars.java import find_java
from headrace.jobs import processes
from headrace.jobs.figures import History, Meter, as_dict
from headrace.jobs.folder import Heartbeat, JobFolder, Launch, Outcome, Phase
from headrace.jobs.last_rows import LastRows
from headrace.jobs.logs import rotate
from headrace.jobs.reports import Cause, Report, internal, report_of
from headrace.language import fill
from headrace.plan.application import check_runnable
from headrace.plan.real_time import is_real_time

if TYPE_CHECKING:
    from headrace.spark.progress import Progress

__all__ = ["main", "prepared"]

DONE, USER_ERROR, FAILED = 0, 1, 3
BEAT = 1.0
SLOW = 5
"""Every so many beats the history is written and the log is looked at."""
ENDING = 10.0
"""How many seconds Spark has to end in good order."""

_log = logging.getLogger("headrace.driver")


def prepared(launch: Launch) -> Application:
    """Return the application that a launch asks for; raise HeadraceError for a mistake in it."""
    file = Path(launch.application)
    application = Application(
        directory=Path(launch.directory),
        state=launch.state,
        name=launch.name,
        durable=True,
        beside=launch.beside,
        file=file,
    )
    application.reading(Import.from_dict(each) for each in launch.imports)
    values = ChainMap(dict(launch.variables), dict(os.environ))
    application.add(fill(file.read_text("utf-8"), f"{launch.name}.sql", values))
    if launch.only:
        application.plan.outputs = [each for each in application.plan.outputs if each.name in launch.only]
    settings = application.plan.settings
    spark = {**settings.spark, "spark.driver.memory": f"{launch.memory}m"}
    application.plan.settings = replace(settings, spark=spark)
    real_time = any(is_real_time(output, settings) for output in application.plan.outputs)
    application.master = launch.master or (None if real_time else f"local[{launch.cores}]")
    return application


@dataclass(slots=True)
class Life:
    """One attempt, from lock to outcome."""

    folder: JobFolder
    launch: Launch
    phase: Phase = "starting"
    stopping: threading.Event = field(default_factory=threading.Event)
    beats: int = 0
    history: History = field(default_factory=History)
    meter: Meter = field(default_factory=Meter)
    rows: LastRows = field(default_factory=LastRows)
    outputs: tuple[dict[str, Any], ...] = ()
    progress: "Callable[[], list[Progress]]" = lambda: []
    observing: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self, application: Callable[[Launch], Application] = prepared) -> Outcome:
        """Run until the end or the request to stop, and say how it went; errors are told, not raised."""
        loaded = False
        try:
            made = application(self.launch)
            check_runnable(made.plan)
            loaded = True
            self._run(made)
            return self._outcome("stopped" if self.stopping.is_set() else "finished")
        except HeadraceError as error:
            _log.error("%s", error.report())
            return self._outcome("failed", self._cause(error, loaded=loaded), report_of(error))
        except Exception as error:
            _log.exception("internal error")
            return self._outcome("failed", Cause.FAILURE, internal(error))

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Give signs of life from a thread of its own."""
        thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.ended.set()
            thread.join(timeout=2 * BEAT)

    def _run(self, application: Application) -> None:
        _log.info("starting Spark")
        find_java()
        try:
            application.session()
        except HeadraceError:
            raise
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0][:300]
            raise JobFailed(
                "Spark could not be started",
                detail=f"{type(error).__name__}: {first}.",
                hint="What it said is in the log of the job.",
            ) from error
        try:
            if not self.stopping.is_set():
                application.start(self.rows.take)
                self.folder.write_types(self.launch.version, application.types())
                with self.observing:
                    self.phase, self.progress = "running", application.progress
                if (beginning := application.beginning()) is not None:
                    _log.info("%s began at %s", ", ".join(beginning.streams), beginning.at.isoformat())
                _log.info("running")
                application.wait(self.stopping, lambda _: None)
        finally:
            with self.observing:
                self.phase, self.progress = "stopping", lambda: []
            _log.info("stopping")
            last: list[Progress] = []
            with suppress(Exception):  # a Spark that has gone says no more; what it died of is on its way
                last = application.progress()
            application.stop()
            with self.observing:  # the last batch is in the last heartbeat: a rebuild goes by it
                self._measure(last, _now())

    def _cause(self, error: HeadraceError, *, loaded: bool) -> Cause:
        """Return whose fault an error is: a text that ran before is no mistake, what it needs may be away."""
        if error.passing:
            return Cause.SURROUNDINGS
        if isinstance(error, JobFailed):
            return Cause.FAILURE
        if not loaded or isinstance(error, PlanError) or not self.launch.has_run:
            return Cause.USER
        return Cause.SURROUNDINGS

    def _outcome(self, ending: str, cause: Cause | None = None, error: Report | None = None) -> Outcome:
        return Outcome(self.launch.attempt, ending, _now(), cause, error)

    def _beat_on(self) -> None:
        while True:
            try:
                self.beat()
            except Exception:  # a full disk or a Spark that has gone: the main thread reports what matters
                _log.exception("no heartbeat")
            if self.ended.wait(BEAT):
                return

    def beat(self) -> None:
        """Look at requests, observe the queries, and give a sign of life."""
        if self.folder.is_asked("stop", self.launch.attempt):
            self.stopping.set()
        now = _now()
        with self.observing:
            self._measure(self.progress(), now)
            phase = self.phase
        rows = self.rows.changed()
        if rows is not None:
            self.folder.write_last_rows(rows)
        self.beats += 1
        self.folder.write_heartbeat(Heartbeat(self.launch.attempt, self.beats, now, phase, self.outputs))
        if self.beats % SLOW == 0:
            rotate(self.folder.log_path)
            self.folder.write_history(self.history)

    def _measure(self, progress: "Sequence[Progress]", now: datetime) -> None:
        if progress:
            self.outputs = tuple(as_dict(self.meter.measure(each, now)) for each in progress)
            self.history.add(self.outputs, now)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the driver of a folder and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _log_to_stderr()
    if not 1 <= len(given) <= 2:
        _log.error("usage: python -m headrace.jobs.driver FOLDER [HANDLE OF THE LOCK]")
        return 2
    folder = JobFolder(Path(given[0]).resolve())
    lock = int(given[1]) if len(given) == 2 else folder.take_lock()
    launch = folder.launch()
    if lock is None or launch is None:
        _log.error("a driver of this job runs already" if lock is None else "nothing is to be run here")
        return USER_ERROR
    os.set_inheritable(lock, False)
    me = processes.identity(os.getpid(), launch.attempt)
    if me is not None:
        folder.write_driver(me)
    return _live(folder, launch)


def _log_to_stderr() -> None:
    """Write lines with the time in UTC; Spark's bridge is left out, since Headrace reports failures itself."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)


def _live(folder: JobFolder, launch: Launch) -> int:
    _log.info("attempt %d of %s, process %d", launch.attempt, launch.name, os.getpid())
    life = Life(folder, launch, history=folder.history())

    def stop(_number: int, _frame: FrameType | None) -> None:
        life.stopping.set()

    signal.signal(signal.SIGTERM, stop)
    os.environ[processes.MARK] = str(folder.path)
    with life.beating():
        if count := processes.end_remains(folder.path):
            _log.warning("%d processes of an earlier driver were still there", count)
        scratch = _scratch(folder)
        outcome = life.run()
        life.beat()
        folder.write_outcome(outcome)
        _end_spark()
        processes.end_remains(folder.path)
    folder.write_history(life.history)
    shutil.rmtree(scratch, ignore_errors=True)
    _log.info("%s", outcome.ending)
    if outcome.ending != "failed":
        return DONE
    return USER_ERROR if outcome.cause is Cause.USER else FAILED


def _scratch(folder: JobFolder) -> Path:
    """Return an empty folder for Spark's own files, which a killed driver leaves behind."""
    scratch = folder.path / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700, exist_ok=True)
    os.environ["SPARK_LOCAL_DIRS"] = str(scratch)
    return scratch


def _end_spark() -> None:
    """Let Spark end in good order, which a cluster's master wants to know; one that takes too long is ended."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        return

    def end() -> None:
        with suppress(Exception):  # it may have died: then there is nothing to end
            session.stop()

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    ending.join(ENDING)


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    os._exit(code)  # threads of Spark's bridge must not keep a driver that has ended
