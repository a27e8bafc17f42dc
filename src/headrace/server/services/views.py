"""Who asks and the name of a view go in; its rows, answers to SQL and its changes come out."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot import exp

from headrace.errors import HeadraceError, PlanError, Source, shallow
from headrace.language.dialect import Headrace
from headrace.plan.outputs import Output
from headrace.plan.scope import did_you_mean
from headrace.server.access.access import Access
from headrace.server.access.decisions import Target, Who
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.services.job_reading import JobReading, job_target
from headrace.server.services.mistakes import FeedGone, NotThere, Unwanted
from headrace.server.services.plans import Planned, Plans
from headrace.server.services.turns import Turns
from headrace.views.definition import Bounds, FeedBatch, Reflects, Row, ViewColumn, ViewDefinition, ViewStore
from headrace.views.names import told_apart
from headrace.views.open import open_store
from headrace.views.query_text import single_query, tables_in
from headrace.views.reading import View
from headrace.views.reading_keys import key_from_text
from headrace.views.sqlite import SqliteViewStore

__all__ = ["Answer", "JobView", "Rows", "Stamp", "Views", "view_target"]

MOST_ROWS = 10_000
LONGEST_QUERY = 50_000
MOST_SELECTS = 64
MOST_TERMS = 5_000
_SELECT = re.compile(r"\bselect\b", re.IGNORECASE)
MOST_BYTES = 4 * 2**20
"""About how many bytes of changes are read at once; a single batch may have more."""
ROW_BYTES = 100
"""What a row takes besides its texts."""
MOST_KNOWN = 5_000
"""How many views are remembered in words."""


@dataclass(frozen=True, slots=True)
class JobView:
    """A materialised view and the job that keeps it."""

    planned: Planned
    output: Output

    @property
    def name(self) -> str:
        """The name of the view."""
        return self.output.name

    @property
    def job(self) -> str:
        """The name of its job."""
        return self.planned.job.name

    @property
    def target(self) -> Target:
        """The view as access lists know it."""
        return view_target(self.name, self.job)


class Stamp(NamedTuple):
    """What is known of a file without opening it; ``changed`` is in seconds."""

    file: int
    changed: float
    size: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a view out of ``total``."""

    definition: ViewDefinition
    reflects: Reflects
    rows: Sequence[Row]
    total: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a SELECT gives; ``truncated`` says that there is more."""

    columns: tuple[str, ...]
    rows: Sequence[Row]
    truncated: bool


class Views:
    """The views of all jobs, by name; ``JOB.VIEW`` tells apart views of the same name."""

    def __init__(self, jobs: JobReading, plans: Plans, access: Access, query_limit: timedelta) -> None:
        self._jobs, self._plans, self._access = jobs, plans, access
        self._known: dict[tuple[str, int, str], tuple[ViewColumn, ...]] = {}
        self._query_limit = query_limit
        self.turns = Turns()
        """Held by whoever reads many rows for somebody: nobody is to take all threads."""

    def all(self, who: Who, action: Action = Action.SEE) -> list[JobView]:
        """Return the views to which somebody may do something, by job and name."""
        found = [
            JobView(planned, output)
            for planned in self._plans.of_all(self._jobs.all(who))
            for output in planned.plan.outputs
            if output.view is not None
        ]
        targets = self._access.permitted(who, action, [each.target for each in found])
        seen = {(target.name, target.within.name if target.within else "") for target in targets}
        return [each for each in found if (each.target.name, each.job) in seen]

    def find(self, who: Who, name: str, action: Action = Action.READ_ROWS) -> JobView:
        """Return a view; what somebody may not see is not there."""
        visible = self.all(who)
        found = [each for each in visible if name.lower() in {each.name.lower(), f"{each.job}.{each.name}".lower()}]
        if not found:
            known = [each.name for each in visible]
            raise NotThere(f'there is no view "{name}"', hint=did_you_mean(name, known) if known else None)
        if len(found) > 1:
            names = " and ".join(f"{each.job}.{each.name}" for each in found)
            raise Unwanted(f'several jobs have a view "{name}"', hint=f"Choose one: {names}.")
        self._access.require(who, action, found[0].target)
        return found[0]

    @contextmanager
    def opened(self, view: JobView) -> Iterator[View]:
        """Give a view to read, until the end of the block."""
        with self._store(view) as store:
            try:
                found = View(store, view.name)
            except PlanError as error:
                raise _not_yet(view) from error
            yield found

    def rows(
        self,
        view: JobView,
        *,
        search: str = "",
        order_by: str | None = None,
        descending: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> Rows:
        """Return some rows: those in which a text occurs, in the order of a column or of the key."""
        with self.opened(view) as opened:
            definition = opened.definition
            column = None if order_by is None else _column(definition, order_by)
            reflects = opened.reflects()
            if view.output.view is not None and view.output.view.store == "redis":
                return _rows_in_python(opened, reflects, search, column, descending, offset, limit)
            condition = _search(definition, search)
            counted = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(_table(definition))
            base = exp.select("*").from_(_table(definition))
            if condition is not None:
                base, counted = base.where(condition.copy()), counted.where(condition)
            for name in _order(definition, column):
                ordered = exp.Ordered(this=exp.column(name, quoted=True), desc=descending, nulls_first=not descending)
                base = base.order_by(ordered)
            _, [(total,)] = opened.store.query(counted.sql(dialect=Headrace))
            _, rows = opened.store.query(base.limit(limit).offset(offset).sql(dialect=Headrace))
            return Rows(definition, reflects, rows, int(total))

    def get(self, view: JobView, key: Sequence[str]) -> tuple[ViewDefinition, list[Row]]:
        """Return the rows of a key, given as texts; of the first columns of a key all of its rows."""
        with self.opened(view) as opened:
            values = key_from_text(opened.definition, key)
            return opened.definition, list(opened.store.get(opened.name, values))

    def may_read(self, who: Who, view: JobView) -> bool:
        """Say whether somebody may read the rows of a view."""
        return bool(self._access.may(who, Action.READ_ROWS, view.target))

    def query(self, who: Who, sql: str, limit: int = 1000) -> Answer:
        """Answer a SELECT over views that somebody may read, all of one store and as of one batch."""
        with self.turns.of(who.name), shallow("the query"):
            return self._answered(who, sql, limit)

    def _answered(self, who: Who, sql: str, limit: int) -> Answer:
        tree = _small_query(sql)
        with_names = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        views: dict[str, JobView] = {}
        for name, table in tables_in(tree):
            view = views[name.lower()] = self.find(who, name)
            if view.name.lower() in with_names:
                raise PlanError(f'"{view.name}" is a view and a name of WITH', hint="Give the WITH another name.")
            table.set("this", exp.to_identifier(view.name, quoted=True))
            table.set("db", None)
            table.set("catalog", None)
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(name.rpartition(".")[2], quoted=True)))
        if not views:
            raise PlanError("the query reads no view", hint="Name one in FROM.")
        stores = {self._place(view) for view in views.values()}
        if len(stores) > 1:
            raise PlanError("the views of the query are in different stores", detail=f"They are {len(stores)}.")
        if tree.args.get("limit") is None:
            tree = tree.limit(limit + 1, copy=False)
        bounds = Bounds(frozenset(view.name.lower() for view in views.values()), limit + 1)
        with self._store(next(iter(views.values()))) as store:
            columns, rows = store.query(tree.sql(dialect=Headrace), bounds)
        return Answer(told_apart(columns), rows[:limit], truncated=len(rows) > limit)

    def columns(self, view: JobView) -> tuple[ViewColumn, ...]:
        """Return the columns of a view as its store has them, as planned if it is not there yet."""
        try:
            with self.opened(view) as opened:
                return opened.definition.columns
        except HeadraceError:
            return self.planned_columns(view)

    def planned_columns(self, view: JobView) -> tuple[ViewColumn, ...]:
        """Return the columns of a view as the plan of its version has them, put into words once."""
        key = (view.planned.job.id, view.planned.job.version, view.name)
        found = self._known.get(key)  # others may clear it meanwhile
        if found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            fields = view.output.relation.fields
            found = tuple(ViewColumn(each.name, each.type.sql(dialect=Headrace).lower()) for each in fields)
            self._known[key] = found
        return found

    def changes(self, view: JobView, after: int | None, most: int = 100) -> list[FeedBatch]:
        """Return the batches that changed a view after a position, as far as they are there now and fit into memory.

        There is at least one if there are any; those behind it are asked for with its number as the position.
        """
        with self.opened(view) as opened:
            try:
                return _fitting(opened.store.changes(opened.name, after), most)
            except HeadraceError as error:
                raise FeedGone(error.message, detail=error.detail, hint=error.hint) from error

    def version(self, view: JobView) -> tuple[Stamp, ...] | None:
        """Return what is another value after a change, None if the store cannot tell."""
        options = view.output.view
        if options is None or options.store != "sqlite":
            return None
        path = view.planned.kept().path_of(options)
        stamps = (_stamp(path), _stamp(path.with_name(f"{path.name}-wal")))
        return tuple(each for each in stamps if each is not None and each.size)  # to read makes an empty log

    def position(self, view: JobView) -> int | None:
        """Return the last batch of a view."""
        with self.opened(view) as opened:
            return opened.reflects().batch

    def _place(self, view: JobView) -> tuple[object, ...]:
        options = view.output.view
        assert options is not None
        path = view.planned.kept().path_of(options) if options.store == "sqlite" else None
        return options.store, path, options.url, options.schema, options.prefix

    @contextmanager
    def _store(self, view: JobView) -> Iterator[ViewStore]:
        options, kept = view.output.view, view.planned.kept()
        assert options is not None
        store: Any
        if options.store == "sqlite":
            path = kept.path_of(options)
            if not path.is_file():
                raise _not_yet(view)
            store = SqliteViewStore(path, read_only=True, query_timeout=self._query_limit)
        else:
            store = open_store(options, kept.base, Path("views"), self._query_limit)
        try:
            yield store
        finally:
            close = getattr(store, "close", None)
            if close is not None:
                close()


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return Stamp(found.st_ino, found.st_mtime, found.st_size, found.st_mtime_ns)


def view_target(name: str, job: str) -> Target:
    """Return a view as access lists know it: it is in its job."""
    return Target(ObjectKind.VIEW, name, within=job_target(job))


def _small_query(sql: str) -> exp.Query:
    """Return the tree of a query; raise if to plan it would take long: that is done before its time is measured."""
    if len(sql) > LONGEST_QUERY:
        raise PlanError(f"the query has more than {LONGEST_QUERY:,} characters", hint="Ask in several queries.")
    if len(_SELECT.findall(sql)) > MOST_SELECTS:  # already reading them takes long
        raise PlanError(f"the query has more than {MOST_SELECTS} SELECTs", hint="Ask in several queries.")
    tree = single_query(Source("query", sql))
    if sum(1 for _ in tree.find_all(exp.Table)) > MOST_SELECTS:
        raise PlanError(f"the query names more than {MOST_SELECTS} views", hint="Ask in several queries.")
    if sum(1 for _ in tree.walk()) > MOST_TERMS:
        raise PlanError(f"the query has more than {MOST_TERMS:,} terms", hint="Ask in several queries.")
    return tree


def _fitting(batches: Iterator[FeedBatch], most: int) -> list[FeedBatch]:
    """Return the first batches of a feed, as many as take about so much memory as may be, and the first in any case."""
    found: list[FeedBatch] = []
    size = 0
    for batch in islice(batches, most):
        found.append(batch)
        for row in chain(batch.delta.deleted, batch.delta.inserted):
            size += ROW_BYTES + sum(len(value) for value in row if isinstance(value, str | bytes))
        if size >= MOST_BYTES:
            break
    return found


def _not_yet(view: JobView) -> NotThere:
    return NotThere(
        f'view "{view.name}" is not there yet', hint=f"Its job {view.job} makes it with its first start; look at that."
    )


def _table(definition: ViewDefinition) -> exp.Table:
    return exp.Table(this=exp.to_identifier(definition.name, quoted=True))


def _column(definition: ViewDefinition, name: str) -> str:
    names = [each.name for each in definition.columns]
    for each in names:
        if each.lower() == name.lower():
            return each
    raise HeadraceError(f'view "{definition.name}" has no column "{name}"', hint=did_you_mean(name, names))


def _order(definition: ViewDefinition, column: str | None) -> list[str]:
    """Return the columns that put rows into one order, so that no page has a row of another: the wanted one first."""
    rest = definition.key or [each.name for each in definition.columns]
    wanted = [] if column is None else [column]
    return wanted + [each for each in rest if column is None or each.lower() != column.lower()]


def _search(definition: ViewDefinition, search: str) -> exp.Expr | None:
    """Return the condition that a text occurs in a column, in any case."""
    if not search:
        return None
    wanted = exp.Literal.string(search.lower())
    found: list[exp.Expr] = []
    for each in definition.columns:
        text = exp.cast(exp.column(each.name, quoted=True), "STRING", dialect=Headrace)
        found.append(exp.GT(this=exp.StrPosition(this=exp.Lower(this=text), substr=wanted.copy()), expression=_zero()))
    return exp.or_(*found)


def _zero() -> exp.Expr:
    return exp.Literal.number(0)


def _rows_in_python(
    view: View, reflects: Reflects, search: str, column: str | None, descending: bool, offset: int, limit: int
) -> Rows:
    """Return some rows of a store that answers no SQL."""
    from headrace.values import json_text, json_value, sort_key

    rows = list(view.store.rows(view.name))
    if search:
        rows = [row for row in rows if any(search.lower() in json_text(json_value(each)).lower() for each in row)]
    if column is not None:
        place = view.columns.index(column)
        rows.sort(key=lambda row: sort_key({"value": row[place]}), reverse=descending)
    return Rows(view.definition, reflects, rows[offset : offset + limit], len(rows))
