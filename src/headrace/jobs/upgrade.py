"""Two texts of an application go in; which outputs keep their state, and why others do not, come out."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from headrace.plan.application import Output, Plan
from headrace.plan.steps import Kind, Relation, Union
from headrace.plan.together import groups, query_folder, takes_changes
from headrace.views.kept import VIEWS
from headrace.views.sqlite import SqliteViewStore

__all__ = ["Change", "Fate", "Upgrade", "clear", "compare"]


class Fate(StrEnum):
    """What becomes of an output's state."""

    KEEPS = "keeps"
    REBUILT = "rebuilt"
    """It is computed anew from the beginning of its sources."""
    NEW = "new"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """What an upgrade does to one output."""

    output: str
    fate: Fate
    why: str


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade does, and what is to be cleared for it: folders of queries, and views of queries."""

    changes: tuple[Change, ...]
    clear: tuple[str, ...]
    views: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Query:
    """Outputs that have one checkpoint, and what that depends on."""

    folder: str
    members: tuple[Output, ...]
    fingerprint: dict[str, object]
    has_checkpoint: bool

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name.lower() for each in self.members)


def compare(old: Plan, new: Plan, *, same_place: bool = True) -> Upgrade:
    """Return what becomes of each output; without ``same_place`` the new version has its state elsewhere."""
    before, after = _queries(old), _queries(new)
    was = {name: query for query in before for name in query.names}
    becomes = {name: query for query in after for name in query.names}
    kept = {query.folder for query in after if same_place and _keeps(query, was.get(query.names[0]))}
    changes = [_change(output, was, becomes[output.name.lower()], kept, old, new, same_place) for output in new.outputs]
    removed = [output for output in old.outputs if output.name.lower() not in becomes]
    changes += [Change(output.name, Fate.REMOVED, _why_removed(output)) for output in removed]
    gone = [query for query in before if query.folder not in kept]
    views = [query.folder for query in gone if not set(query.names) & set(becomes)]
    return Upgrade(tuple(changes), tuple(query.folder for query in gone), tuple(views))


def clear(state: Path, folders: Iterable[str], queries: Iterable[str], application: str) -> None:
    """Delete the checkpoints that a new version cannot go on from; to do it twice is to do it once.

    What a query without a checkpoint kept in its views is forgotten when it starts; the views of queries that are no
    more are removed here.
    """
    for folder in folders:
        shutil.rmtree(state / folder, ignore_errors=True)
    file = state / VIEWS
    if file.is_file():
        store = SqliteViewStore(file)
        try:
            for query in queries:
                store.remove(f"{application}.{query}")
        finally:
            store.close()


def _queries(plan: Plan) -> list[_Query]:
    from headrace.spark.fingerprint import fingerprint
    from headrace.spark.run import whole

    found = []
    for group in groups(plan.outputs):
        together = Relation(Union(tuple(whole(output) for output in group)), (), Kind.CHANGELOG)
        named = Output("together", together, None, "views")
        found.append(_Query(query_folder(group), group, fingerprint(named, plan, group), True))
    for output in plan.outputs:
        if not takes_changes(output):
            streaming = output.relation.kind is not Kind.STATIC
            found.append(_Query(output.name.lower(), (output,), fingerprint(output, plan), streaming))
    return found


def _keeps(query: _Query, before: _Query | None) -> bool:
    from headrace.spark.fingerprint import changes

    if before is None or (query.folder, query.names) != (before.folder, before.names):
        return False
    if changes(before.fingerprint, query.fingerprint):
        return False
    return all(_placed(a) == _placed(b) for a, b in zip(query.members, before.members, strict=True))


def _placed(output: Output) -> tuple[Any, ...]:
    """Return what of an output besides its query its kept rows depend on."""
    view = output.view
    where = () if view is None else (view.store, view.path, view.url, view.schema, view.prefix, view.ttl)
    return output.role, output.key, None if output.sink is None else output.sink.connector, where


def _change(
    output: Output,
    was: dict[str, _Query],
    query: _Query,
    kept: set[str],
    old: Plan,
    new: Plan,
    same_place: bool,
) -> Change:
    name = output.name.lower()
    before = was.get(name)
    others = [each.name for each in query.members if each.name.lower() != name]
    if before is None:
        return Change(output.name, Fate.NEW, _why_new(others))
    if query.folder in kept:
        return Change(output.name, Fate.KEEPS, _why_kept(query, others))
    if not same_place:
        return Change(output.name, Fate.REBUILT, "its state is to be in another place, where it begins anew")
    if old.settings.shuffle_partitions != new.settings.shuffle_partitions:
        partitions = f"{old.settings.shuffle_partitions} to {new.settings.shuffle_partitions}"
        return Change(output.name, Fate.REBUILT, f"SET shuffle_partitions went from {partitions}")
    earlier = next(each for each in before.members if each.name.lower() == name)
    if own := _difference(earlier, output, old, new):
        return Change(output.name, Fate.REBUILT, own)
    return Change(output.name, Fate.REBUILT, _why_together(query, before, others, old, new))


def _why_kept(query: _Query, others: Sequence[str]) -> str:
    if not query.has_checkpoint:
        return "it is computed anew at every start, as before"
    return "its query is the same" + (f", and so are those it is one query with: {', '.join(others)}" if others else "")


def _why_new(others: Sequence[str]) -> str:
    return "there was no such output" + (f"; it is one query with {', '.join(others)}" if others else "")


def _why_removed(output: Output) -> str:
    if output.view is not None and output.view.store != "sqlite":
        return (
            f"the new version does not have it; its rows in {output.view.store.capitalize()} stay until you drop them"
        )
    return "the new version does not have it"


def _why_together(query: _Query, before: _Query, others: Sequence[str], old: Plan, new: Plan) -> str:
    """Return why an output whose own query is the same is rebuilt all the same: for the company that it is in."""
    then = {each.name.lower(): each for each in before.members}
    now = {each.name.lower(): each for each in query.members}
    causes = [f"{each.name} joined them" for name, each in now.items() if name not in then]
    causes += [f"{each.name} left them" for name, each in then.items() if name not in now]
    causes += [
        f"{each.name} changed" for name, each in now.items() if name in then and _difference(then[name], each, old, new)
    ]
    company = ", ".join(others or [each.name for name, each in then.items() if name not in now])
    reason = " and ".join(causes) or "their order changed"
    return f"outputs that share a source are one query, with one state: it is one with {company}, and {reason}"


def _difference(earlier: Output, later: Output, old: Plan, new: Plan) -> str | None:
    """Return what changed of an output's own, None if nothing did."""
    from headrace.spark.fingerprint import changes, fingerprint

    if found := changes(fingerprint(earlier, old), fingerprint(later, new)):
        return "its query changed: " + " | ".join(found[:6]) + (" | …" if len(found) > 6 else "")
    if earlier.key != later.key:
        return f"its key was {_columns(earlier.key)} and is {_columns(later.key)}"
    if _placed(earlier) != _placed(later):
        return "it is kept in another place, or for another time"
    return None


def _columns(key: Sequence[str]) -> str:
    return f"({', '.join(key)})" if key else "none"
