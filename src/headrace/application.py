"""The Python face: an application, as its definition says, is run, fed, watched and read."""

import secrets
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.files.options import FilesSink
from headrace.connectors.kafka.options import KafkaSink
from headrace.connectors.noop.options import NoopSink
from headrace.connectors.tables import TableColumn, TableWriter, open_writer
from headrace.definition import Definition
from headrace.errors import PlanError
from headrace.plan.application import Output, check_runnable
from headrace.plan.observing import adding_up
from headrace.plan.real_time import is_real_time
from headrace.plan.scope import did_you_mean
from headrace.plan.steps import Kind, unsorted
from headrace.plan.together import TABLES, groups, query_folder, takes_changes
from headrace.values import to_json_line
from headrace.views.answered import Answered
from headrace.views.kept import Kept, rows_file
from headrace.views.locations import register
from headrace.views.reading import View
from headrace.views.sqlite import SqliteViewStore
from headrace.views.store import Change, MemoryStore, SqliteStore, Store
from headrace.views.takers import MemoryTaker, TableTaker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.spark.progress import Progress
    from headrace.spark.run import Run

Notice = Callable[[str, int, Sequence[Change]], None]


@dataclass(slots=True)
class Application(Definition):
    """A streaming application: statements, and what a Python program adds to them.

    >>> app = Application().sql("CREATE STREAM s (x INT) WITH (connector = 'memory')")
    >>> app = app.sql("CREATE VIEW big AS SELECT x FROM s WHERE x > 10")
    >>> print(app.explain("big"))
    append: rows are published once and never change
    -> select x
       -> keep rows where x > 10
          -> read stream s
               from memory
               what does not parse goes to s.dead
    """

    _run: "Run | None" = field(default=None, repr=False)
    _stores: dict[str, Store] = field(default_factory=dict, repr=False)
    _kept: Kept | None = field(default=None, repr=False)
    _writers: list[TableWriter] = field(default_factory=list, repr=False)

    def observed(self) -> dict[str, dict[str, float | None]]:
        """Return what the last batch of a started application measured, by observation and figure."""
        return {name: dict(values) for each in self.progress() for name, values in each.observed.items()}

    def session(self) -> "SparkSession":
        """Return the Spark session that the application runs on, started if there is none."""
        from headrace.spark.session import open_session

        return open_session(
            self.plan.settings,
            master=self.master,
            name=f"headrace {self.name}",
            kafka=self.plan.uses("kafka"),
            real_time=any(is_real_time(output, self.plan.settings) for output in self.plan.outputs),
        )

    def frame(self, name: str) -> "DataFrame":
        """Return a relation as a Spark DataFrame, streaming if it reads a stream."""
        from headrace.spark.collect import columns_of
        from headrace.spark.records import quoted

        run = self._open(self.state_folder(), bounded=False)
        made = run.lowering.frame(unsorted(self.plan.relation(name)))
        return made.select(*[quoted(column) for column in columns_of(made)])

    def feed(self, stream: str, rows: Iterable[Mapping[str, Any] | str]) -> "Application":
        """Give rows to a stream or table of the memory connector; what is given at once falls into one batch."""
        from headrace.spark.place import micros, now

        if stream.lower() not in {**self.plan.streams, **self.plan.tables}:
            raise PlanError(f'unknown stream or table "{stream}"')
        lines = [row if isinstance(row, str) else to_json_line(dict(row)) for row in rows]
        self.session()
        folder = self._place(self.state_folder(), bounded=False).feed(stream).make()
        number = len(folder.names())
        folder.write(f"{number:08d}-{micros(now())}.jsonl", "\n".join(lines) + "\n")
        self.fed = True
        return self

    def run_once(self, *, keep_sinks: bool = True) -> list[Answered]:
        """Read what is there, close every window, and return what each output has published."""
        check_runnable(self.plan)
        self.session()
        once = self._scratch()
        run = self._run = self._open(once, bounded=True, controlled=True)
        trigger = {"availableNow": True}
        stores = {output.name: MemoryStore() for output in self.plan.outputs}
        try:
            for group in groups(self.plan.outputs):
                takers: dict[str, Any] = {
                    output.name: self._table_taker(output, run, f"once-{secrets.token_hex(4)}")
                    if _is_table(output)
                    else MemoryTaker(output.relation.names, stores[output.name])
                    for output in group
                }
                columns = run.add_together(group, takers, trigger, remember=False).columns()
                for output in filter(_is_table, group):
                    given = [TableColumn(c.name, c.type) for c in columns[output.name]]
                    takers[output.name].writer.prepare(given, output.key)
            for output in self.plan.outputs:
                if takes_changes(output):
                    continue
                if _is_table(output):
                    self._add_table(output, run, trigger, f"once-{secrets.token_hex(4)}", remember=False)
                    continue
                publisher = self._publisher(output, stores[output.name], run, None)
                run.add(output, publisher, trigger, remember=False)
            run.run_to_end()
        finally:
            run.stop()
            self._close_writers()
            run.place.folder().delete()
        return [
            Answered(output, stores[output.name])
            for output in self.plan.outputs
            if output.sink is None or _is_shown(output)
        ]

    def start(self, notice: Notice | None = None) -> "Application":
        """Start every output and return; rows that come and go are told to ``notice``."""
        check_runnable(self.plan)
        self.session()
        run = self._open(self.state_folder(), bounded=False)
        run.place.beginning = self.beginning()
        run.place.observations = list(self.plan.observations.values())
        run.place.adds_up = adding_up(self.plan.observations.values())
        seconds = self.plan.settings.trigger.total_seconds()
        trigger = {"processingTime": f"{int(seconds * 1000)} milliseconds"}
        self._start_together(run, trigger, notice)
        for output in self.plan.outputs:
            if takes_changes(output):
                continue
            if output.role == "view":
                self._start_view(output, run, trigger)
                continue
            if _is_table(output):
                self._add_table(output, run, trigger, run.kept_name(output.name.lower()), remember=True)
                continue
            store = self._durable(output, run)
            self._stores[output.name.lower()] = store
            real_time = is_real_time(output, self.plan.settings)
            publisher = self._publisher(output, store, run, notice)
            run.add(output, publisher, self._real_time_trigger() if real_time else trigger, remember=True)
        self._run = run
        if self._kept is not None:
            self._note_views(self._kept)
        run.start()
        if not self.tried:
            run.report(f"headrace-{self.name}-beside" if self.beside else f"headrace-{self.name}")
        return self

    def _start_together(self, run: "Run", trigger: dict[str, Any], notice: Notice | None) -> None:
        """Prepare the outputs that take changes, those that share a source as one query."""
        self._kept = kept = self._keeping()
        for group in groups(self.plan.outputs):
            folder = query_folder(group)
            stored = [output for output in group if not _is_table(output)]
            takers: dict[str, Any] = {**kept.takers(folder, stored, notice, _is_shown)}
            for output in group:
                if _is_table(output):
                    takers[output.name] = self._table_taker(output, run, run.kept_name(folder), folder)
            running = run.add_together(group, takers, trigger, remember=True)
            anew = run.is_new(folder)
            columns = running.columns()
            kept.define(folder, stored, columns, anew=anew)
            for output in group:
                if _is_table(output):
                    writer = takers[output.name].writer
                    writer.prepare([TableColumn(c.name, c.type) for c in columns[output.name]], output.key)

    def _start_view(self, output: Output, run: "Run", trigger: dict[str, Any]) -> None:
        """Prepare a view whose rows replace each other by key, or one that is published as a whole."""
        from headrace.spark.publish import into_nothing, into_view, into_whole_view
        from headrace.spark.running import columns_in

        kept = self._kept or self._keeping()
        folder = output.name.lower()
        taker: Any = kept.takers(folder, [output], None, _is_shown)[output.name]
        store = kept.of_output[folder]
        running = run.add(output, into_nothing(), trigger, remember=True)
        anew = output.relation.kind is not Kind.STATIC and run.is_new(folder)
        kept.define(folder, [output], {output.name: columns_in(running.frame)}, anew=anew)
        if output.relation.kind is Kind.STATIC:
            running.publish = into_whole_view(taker, store, output.name, kept.query(folder))
        else:
            running.publish = into_view(taker, store, output.name, output.key)

    def _add_table(self, output: Output, run: "Run", trigger: dict[str, Any], name: str, *, remember: bool) -> None:
        """Prepare a sink's table whose rows never change: they are written once, as a first batch."""
        from headrace.spark.publish import into_nothing, into_table
        from headrace.spark.running import columns_in

        taker = self._table_taker(output, run, name)
        running = run.add(output, into_nothing(), trigger, remember=remember)
        taker.writer.prepare([TableColumn(c.name, c.type) for c in columns_in(running.frame)], output.key)
        running.publish = into_table(taker, output.name)

    def _keeping(self) -> Kept:
        state = self.state_folder()
        local = "://" not in state or state.startswith("file://")
        return Kept(self.directory, Path(state.removeprefix("file://")) if local else None, self.name)

    def _note_views(self, kept: Kept) -> None:
        """Note where the views are, for commands that look for them by name."""
        if self.durable and not self.beside:
            file = None if self.file is None else str(self.file)
            for location in kept.locations(self.plan.outputs, file, self.state_folder()):
                register(location)

    def _table_taker(self, output: Output, run: "Run", name: str, folder: str | None = None) -> TableTaker:
        """Return who writes a sink's table; ``folder`` is that of its query, if it goes on from a checkpoint."""
        from headrace.spark.publishers import taken_note

        if output.sink is None:
            raise TypeError("not a sink")
        options = output.sink.options
        writer = open_writer(options, name=output.sink.name, base=self.directory)
        self._writers.append(writer)
        named = f"{self.name}.{output.name}.{name}"
        note = None if folder is None else taken_note(run.place.folder(folder), output.name, named, options)
        return TableTaker(writer, named, note)

    def view(self, name: str) -> View:
        """Return a materialised view, to be read by key, as a whole or change by change; also while nothing runs."""
        output = next((each for each in self.plan.outputs if each.name.lower() == name.lower()), None)
        if output is None or output.view is None:
            known = [each.name for each in self.plan.outputs if each.view is not None]
            raise PlanError(f'unknown materialised view "{name}"', hint=did_you_mean(name, known))
        kept = self._kept or self._keeping()
        if output.view.store == "sqlite" and not kept.path_of(output.view).is_file():
            raise PlanError(f'view "{output.name}" is not there yet', hint="Start the application first.")
        self._kept = kept
        return View(kept.store_of(output.view), name)

    def _real_time_trigger(self) -> dict[str, str]:
        return {"realTime": f"{int(self.plan.settings.checkpoint_interval.total_seconds() * 1000)} milliseconds"}

    def wait(self, stopping: threading.Event, tick: Callable[[list["Progress"]], None]) -> None:
        """Keep a started application going until told to stop; raise what it died of."""
        if self._run is None:
            raise RuntimeError("the application is not started")
        self._run.watch(stopping, tick)

    def types(self) -> dict[str, dict[str, str]]:
        """Return the types that Spark gave the columns of each started output, in its words."""
        found = {} if self._run is None else self._run.columns()
        return {name.lower(): {each.name: each.type for each in columns} for name, columns in found.items()}

    def process_available(self) -> "Application":
        """Wait until a started application has processed all that is there."""
        for running in self._run.streaming if self._run is not None else ():
            running.wait()
        return self

    def progress(self) -> list["Progress"]:
        """Return the figures of each output that reads a stream."""
        return [running.observe() for running in self._run.streaming] if self._run is not None else []

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows that a started output has published, as they stand."""
        store = self._stores.get(name.lower())
        if store is not None:
            return store.rows()
        kept = self._kept
        if kept is not None and name.lower() in kept.of_output:
            return list(View(kept.of_output[name.lower()], name).rows())
        if kept is not None and name.lower() in kept.memories:
            return kept.memories[name.lower()].rows()
        output = next((each for each in self.plan.outputs if each.name.lower() == name.lower()), None)
        if output is not None and output.view is not None:
            return list(self.view(name).rows())
        if output is not None and output.sink is None:
            return self.remembered(name)
        raise PlanError(f'"{name}" is not an output that is running')

    def stop(self) -> None:
        """Stop between two batches; the next start goes on from there."""
        if self._run is not None:
            self._run.stop()
            self._run = None
        self._close_writers()
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _close_writers(self) -> None:
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    def forget(self) -> None:
        """Delete the checkpoints and views of earlier runs."""
        state = self.state_folder()
        if self._kept is not None:
            self._kept.close()
            self._kept = None
        if "://" not in state:
            shutil.rmtree(state, ignore_errors=True)
            return
        self.session()
        self._place(state, bounded=False).folder().delete()

    def _place(self, state: str, *, bounded: bool, controlled: bool = False) -> Any:
        from headrace.spark.place import Place

        return Place(self.directory, state, bounded=bounded, controlled=controlled)

    def _open(self, state: str, *, bounded: bool, controlled: bool = False) -> "Run":
        from headrace.spark.functions import register_callable
        from headrace.spark.run import open_run

        spark = self.session()
        for name, (function, returns) in self._callables.items():
            register_callable(spark, name, function, returns)
        declared = {n: f for n, f in self.plan.functions.items() if n not in self._callables}
        plan = replace(self.plan, functions=declared)
        place = self._place(state, bounded=bounded, controlled=controlled)
        place.feeds = self.state_folder() if self.fed else None
        return open_run(spark, plan, place, self._frames)

    def _durable(self, output: Output, run: "Run") -> Store:
        if not run.place.is_local or output.relation.kind is Kind.STATIC:
            return MemoryStore()  # rows that are read once are read again by the next run
        return SqliteStore(self._view_file(output.name), keep_plain=output.role == "view" or _is_memory(output))

    def _view_file(self, name: str) -> Path:
        return Path(self.state_folder().removeprefix("file://")) / name.lower() / "view.sqlite"

    def remembered(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of an output as the last run left them, empty if none did on this machine."""
        state = self._keeping().state
        if state is not None and rows_file(state, name).is_file():
            return list(View(SqliteViewStore(rows_file(state, name), read_only=True), name).rows())
        file = self._view_file(name)
        return SqliteStore(file, keep_plain=False).rows() if file.is_file() else []

    def _publisher(self, output: Output, store: Store, run: "Run", notice: Notice | None) -> Any:
        from headrace.spark.publish import into_nothing, into_store
        from headrace.spark.publishers import files_publisher, kafka_publisher
        from headrace.spark.storage import Folder

        if output.sink is not None and isinstance(output.sink.options, FilesSink):
            return files_publisher(output, run.place, Folder(f"{self.state_folder()}/{output.name.lower()}"))
        if output.sink is not None and isinstance(output.sink.options, KafkaSink):
            return kafka_publisher(output, run)
        if output.sink is not None and isinstance(output.sink.options, NoopSink):
            return into_nothing()
        return into_store(store, output.name, notice if _is_shown(output) else None)


def _is_table(output: Output) -> bool:
    return output.sink is not None and output.sink.connector in TABLES


def _is_memory(output: Output) -> bool:
    return output.sink is not None and output.sink.connector == "memory"


def _is_shown(output: Output) -> bool:
    return output.role == "select" or (output.sink is not None and output.sink.connector == "console")


__all__ = ["Answered", "Application"]
