"""Runs test cases on Spark: batches go in by files, rows come out of stores in memory."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from headrace.application import Application
from headrace.catalog.objects import Stream, Table
from headrace.errors import HeadraceError, Source
from headrace.plan.application import Output
from headrace.plan.explain import explain_relation
from headrace.plan.steps import Kind, ReadTable, is_maintained, unsorted, walk
from headrace.plan.together import groups, takes_changes
from headrace.spark.heartbeats import follows_clock, idle_after, send
from headrace.spark.place import Place, micros
from headrace.spark.publish import into_store
from headrace.spark.run import Run, open_run
from headrace.spark.running import held
from headrace.spark.session import open_session
from headrace.values import sort_key
from headrace.views.store import MemoryStore
from headrace.views.takers import MemoryTaker

SMALL = {
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.stateStore.maintenanceInterval": "5s",  # that often state of ended queries leaves memory
    "spark.sql.streaming.pollingDelay": "100ms",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""What suits cases of a few rows; none of it can change an answer."""


@dataclass(slots=True)
class SparkEngine:
    """Opens applications on one Spark session that all cases share."""

    def open(
        self,
        application: Source,
        *,
        directory: Path,
        relations: Sequence[str],
        clock_at: datetime,
        ingested: Sequence[str] = (),
    ) -> "SparkDriver":
        """Return a driver of the application, started, or raise HeadraceError if the application is wrong."""
        loaded = Application(directory=directory).add(application)
        small = replace(loaded.plan.settings, shuffle_partitions=1, spark={**SMALL, **loaded.plan.settings.spark})
        session = open_session(small, master="local[2]", name="headrace test", brief=True)
        state = Path(tempfile.mkdtemp(prefix="headrace-test-", dir=_memory_disk()))
        driver = SparkDriver(loaded, state, clock_at)
        try:
            driver.begin(session, relations, ingested)
        except BaseException:
            driver.close()
            raise
        return driver


def _memory_disk() -> str | None:
    """Return a folder in memory where there is one: a test's checkpoint need not outlive the machine."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and shutil.disk_usage(shared).free > 200_000_000 else None


@dataclass(slots=True)
class SparkDriver:
    """One application under test."""

    application: Application
    state: Path
    clock_at: datetime
    run: Run | None = None
    relations: tuple[str, ...] = ()
    stores: dict[str, MemoryStore] = field(default_factory=dict)
    looked: dict[str, int] = field(default_factory=dict)
    last_rows: dict[str, datetime] = field(default_factory=dict)
    batches: int = 0

    def begin(self, session: Any, relations: Sequence[str], ingested: Sequence[str] = ()) -> None:
        """Start a query for each relation that will be asked for."""
        plan = self.application.plan
        given = {name.lower() for name in ingested}
        topics = {
            name for name, table in plan.tables.items() if table.connector == "kafka" or (table.live and name in given)
        }
        place = Place(
            self.application.directory,
            str(self.state),
            fed=frozenset(plan.streams) | topics,
            controlled=True,
            clock=lambda: self.clock_at,
            started_at=self.clock_at,
        )
        self.stores = {name.lower(): MemoryStore() for name in relations}
        self.relations = tuple(dict.fromkeys(relations))
        self._open(session, place)
        if not relations:
            self._check_all()
        self._active.start()
        self._settle()

    def _open(self, session: Any, place: Place) -> None:
        plan = self.application.plan
        self.run = open_run(session, plan, place)
        outputs = [Output(name, plan.relation(name), None, "test") for name in self.relations]
        trigger = {"processingTime": "0 seconds"}
        for group in groups(outputs):
            takers = {
                output.name: MemoryTaker(output.relation.names, self.stores[output.name.lower()]) for output in group
            }
            self.run.add_together(group, takers, trigger, remember=False)
        for output in outputs:
            name = output.name
            if takes_changes(output):
                continue
            if output.relation.kind is Kind.STATIC:
                self.stores[name.lower()] = MemoryStore()  # it is published as a whole by each start
            publish = into_store(self.stores[name.lower()], name)
            self.run.add(output, publish, trigger, remember=False)

    def _check_all(self) -> None:
        """Let Spark analyse every query, as a start would, so that a wrong one is found."""
        plan = self.application.plan
        for relation in (*plan.views.values(), *(output.relation for output in plan.outputs)):
            step = unsorted(relation)
            lowering = self._active.lowering
            lowering.changes(step) if is_maintained(step) else lowering.frame(step)

    @property
    def _active(self) -> Run:
        if self.run is None:
            raise RuntimeError("the driver is closed")
        return self.run

    def _settle(self) -> None:
        for running in self._active.streaming:
            running.wait()

    def _fed(self, name: str) -> Stream | Table:
        from headrace.plan.scope import did_you_mean

        plan = self.application.plan
        known: dict[str, Stream | Table] = {**plan.tables, **plan.streams}
        if name.lower() not in known:
            hint = did_you_mean(name, [each.name for each in known.values()])
            raise HeadraceError(f'unknown stream "{name}"', hint=hint)
        return known[name.lower()]

    def ingest(self, batch: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Process one micro-batch of several streams; one that feeds a table starts the queries anew before."""
        gathered: dict[str, list[str]] = {}
        for name, lines in batch:
            gathered.setdefault(self._fed(name).name.lower(), []).extend(lines)
        self.batches += 1
        tables = [name for name in gathered if name in self._looked_up()]
        if tables:
            self._restart({name: gathered.pop(name) for name in tables})
        with held(self._active.streaming):
            for name, lines in gathered.items():
                self._write(name, lines)
                self.last_rows[name] = self.clock_at
        self._settle()

    def _looked_up(self) -> set[str]:
        """Return the tables that are read as they stand: more rows of theirs need a new start."""
        plan = self.application.plan
        steps = [step for name in self.relations for step in walk(plan.relation(name).step)]
        read = {each.table.name.lower() for each in steps if isinstance(each, ReadTable) and not each.table.live}
        return read | {name for name, table in plan.tables.items() if not table.live}

    def _write(self, name: str, lines: Sequence[str]) -> None:
        folder = Path(self._active.place.feed(name).path)
        folder.mkdir(parents=True, exist_ok=True)
        hidden = folder / ".new"
        hidden.write_text("".join(line + "\n" for line in lines), "utf-8")
        hidden.rename(folder / f"{self.batches:08d}-{micros(self.clock_at)}.jsonl")

    def _restart(self, tables: dict[str, list[str]]) -> None:
        """Stop, give tables more rows and resume: a query sees the files that are there when it is made."""
        run = self._active
        for name, lines in tables.items():
            self._write(name, lines)
        for running in run.streaming:
            running.active.stop()
        run.place.fed |= tables.keys()
        self._open(run.spark, run.place)
        self._active.start()
        self._settle()

    def set_clock(self, instant: datetime) -> None:
        """Set the processing clock; streams that follow it, or have gone quiet, move on."""
        run = self._active
        self.clock_at = instant
        moved = False
        with held(run.streaming):
            for stream in run.streams:
                idle = idle_after(stream)
                if idle is None:
                    continue
                quiet = instant - self.last_rows.setdefault(stream.name.lower(), instant)
                if follows_clock(stream):
                    send(run.place, stream, instant)
                    moved = True
                elif quiet >= idle:
                    send(run.place, stream, instant - idle)
                    moved = True
        if moved:
            self._settle()

    def drain(self) -> None:
        """End the input: every watermark passes."""
        run = self._active
        with held(run.streaming):
            run.drain()
        self._settle()

    def crash(self) -> None:
        """Die after the last batch was published and before that was written down; then resume."""
        run = self._active
        for running in run.streaming:
            running.active.stop()
            commits = Path(running.checkpoint.path) / "commits"
            done = [int(path.name) for path in commits.glob("*") if path.name.isdigit()]
            if done:
                (commits / str(max(done))).unlink()
        self._resume(run)

    def stop_and_resume(self) -> None:
        """Stop between two batches and resume from the checkpoint."""
        run = self._active
        for running in run.streaming:
            running.active.stop()
        self._resume(run)

    def _resume(self, run: Run) -> None:
        for running in run.streaming:
            running.start()
        self._settle()

    def rows(self, name: str) -> Sequence[dict[str, Any]]:
        """Return all rows of a relation so far."""
        store = self.stores[name.lower()]
        if self.application.plan.relation(name).kind is Kind.STATIC:
            return store.rows()
        return sorted(store.rows(), key=sort_key)

    def changes(self, name: str) -> Sequence[Sequence[dict[str, Any]]]:
        """Return the batches of changes since the last call for this relation."""
        store, seen = self.stores[name.lower()], self.looked.get(name.lower(), -1)
        fresh = [batch for batch in sorted(store.batches) if batch > seen]
        if fresh:
            self.looked[name.lower()] = fresh[-1]
        return [[{**c.row, "_change": c.change} for c in store.batches[batch]] for batch in fresh]

    def explain(self, name: str) -> str:
        """Return the text of a relation's plan."""
        return explain_relation(self.application.plan.relation(name))

    def close(self) -> None:
        """Stop the application and delete its state."""
        if self.run is not None:
            for running in self.run.streaming:
                if running.query is not None:
                    running.query.stop()
            self.run = None
        shutil.rmtree(self.state, ignore_errors=True)
