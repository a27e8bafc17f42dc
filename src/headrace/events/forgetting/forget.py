"""An application and values of columns go in; what it knew of them is removed, and a line on each object comes out."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from functools import partial

from headrace.application import Application
from headrace.catalog.objects import Table
from headrace.errors import PlanError
from headrace.events.forgetting.compaction import ROLL, TopicSettings, await_gone
from headrace.events.forgetting.files import files_of, place_for_deletes, rows_in, write_deletes
from headrace.events.forgetting.report import Line
from headrace.events.forgetting.sources import Sources, TopicOf, sources_of
from headrace.events.forgetting.stores import KeptRows, kept_rows, wiped
from headrace.events.forgetting.topics import Found, bury, ends, found_in, messages_in
from headrace.events.forgetting.wanted import Matches, Wanted, matching

__all__ = ["PATIENCE", "CatchUp", "forget"]

PATIENCE = timedelta(minutes=2)
RETAINED = "spark.sql.streaming.minBatchesToRetain"

CatchUp = Callable[[Callable[[], bool]], None]
"""Brings the views of an application up to date; it is given a function that says whether they are."""


def forget(
    application: Application,
    wanted: Sequence[Wanted],
    *,
    catch_up: CatchUp,
    dry_run: bool = False,
    patience: timedelta = PATIENCE,
) -> list[Line]:
    """Remove every row that has one of the values; a dry run only counts them."""
    sources = sources_of(application, wanted)
    _check_known(application, sources, wanted)
    views = kept_rows(application, wanted)
    found = [(each, found_in(each.topic, each.matches)) for each in sources.tables]
    before = {each.view.name: each.count() for each in views}
    if dry_run:
        return [*_would_go(sources, found, views, before), *_not_touched(sources)]
    for each, there in found:
        bury(each.topic, sorted(there.live))
    written = [_forget_files(*each) for each in sources.files]
    reached = {each.topic.name: ends(each.topic) for each in sources.tables}
    if views:
        catch_up(lambda: _is_reflected(views, reached))
    lines = [
        *_tables(found),
        *(line for lines in written for line in lines),
        *_views(views, before),
        *_logs([*sources.tables, *sources.published], patience),
        *_not_touched(sources),
    ]
    if views:
        batches = application.plan.settings.spark.get(RETAINED, "100")
        note = f"older versions of it, which a resume could need, go with the next {batches} batches"
        lines.append(Line("state", application.name, note=note))
    return lines


def _check_known(application: Application, sources: Sources, wanted: Sequence[Wanted]) -> None:
    outputs = [output for output in application.plan.outputs if matching(wanted, output.relation.names)]
    there = (sources.tables, sources.files, sources.captured, sources.published, sources.streams, sources.elsewhere)
    if not any(there) and not outputs:
        names = " or ".join(f'"{each.column}"' for each in wanted)
        raise PlanError(f"no table, stream or view of the application has a column {names}")


def _would_go(
    sources: Sources, found: Sequence[tuple[TopicOf, Found]], views: Sequence[KeptRows], before: Mapping[str, int]
) -> list[Line]:
    note = "nothing is removed: this is a dry run"
    lines = []
    for each, there in found:
        lines.append(Line("table", each.owner, remains=len(there.live), note=note))
        lines.append(Line("log", each.topic.name, remains=there.messages, note=note))
    for table, path, matches in sources.files:
        live, _ = rows_in(files_of(path) or [], table.primary_key, matches)
        lines.append(Line("table", table.name, remains=len(live), note=note))
    lines += [Line("log", each.topic.name, remains=_logged(each), note=note) for each in sources.published]
    return lines + [Line("view", each.view.name, remains=before[each.view.name], note=note) for each in views]


def _is_reflected(views: Sequence[KeptRows], reached: Mapping[str, Mapping[int, int]]) -> bool:
    return all(each.reflects(topic, offsets) for each in views for topic, offsets in reached.items())


def _tables(found: Sequence[tuple[TopicOf, Found]]) -> list[Line]:
    lines = []
    for each, there in found:
        left = len(found_in(each.topic, each.matches).live)
        note = f"rows of topic {each.topic.name}"
        if left:
            note += "; some were written again meanwhile"
        lines.append(Line("table", each.owner, len(there.live), left, note, wrong=left > 0))
    return lines


def _forget_files(table: Table, path: str, matches: Matches) -> list[Line]:
    """Add a file of deletes to a table; the old lines are the user's, and are named."""
    files = files_of(path)
    if files is None:
        note = f"{path} is not on this machine: delete its rows there"
        return [Line("table", table.name, note=note, wrong=True)]
    live, held = rows_in(files, table.primary_key, matches)
    place = place_for_deletes(path)
    if live and place is None:
        note = f"no file can be added to {path}: remove the rows from it, and run the application with --fresh"
        return [Line("table", table.name, remains=len(live), note=note, wrong=True)]
    if live and place is not None:
        write_deletes(place, live)
    old = "old lines stay in the file: remove them from it"
    return [
        Line("table", table.name, len(live), note=f"deletes are in {place}" if live else ""),
        *(Line("file", str(file), remains=count, note=old, wrong=True) for file, count in held.items()),
    ]


def _views(views: Sequence[KeptRows], before: Mapping[str, int]) -> list[Line]:
    """Check that no row is left, and remove the changes by which rows came and went."""
    lines = []
    for each in views:
        left = each.count()
        note = "from rows that are not touched, such as a stream's" if left else ""
        lines.append(Line("view", each.view.name, max(before[each.view.name] - left, 0), left, note, wrong=left > 0))
        purged = each.purge()
        if purged is None:
            kept = _said(each.view.retain or timedelta(days=7))
            lines.append(Line("changes of view", each.view.name, note=f"stay in this store for {kept}", wrong=True))
        else:
            lines.append(Line("changes of view", each.view.name, purged))
    return lines + wiped(views)


def _logs(topics: Sequence[TopicOf], patience: timedelta) -> list[Line]:
    """Have logs compacted until the old messages are gone from them, and say what is left."""
    settings = {each.topic.name: TopicSettings(each.topic.options, each.topic.base, each.topic.name) for each in topics}
    before = {each.topic.name: messages_in(each.topic, each.matches) for each in topics}
    due = [each for each in topics if before[each.topic.name] and settings[each.topic.name].compacted]
    left = {name: sum(held.values()) for name, held in before.items()}
    with ExitStack() as stack:
        for each in due:
            stack.enter_context(settings[each.topic.name].eager())
        for _ in range(2 if due else 0):  # what is written cuts the segment before, and an open one is never compacted
            time.sleep(2 * ROLL.total_seconds())
            for each in due:
                live = found_in(each.topic, each.matches).live
                bury(each.topic, sorted(before[each.topic.name].keys() - live))
        until = time.monotonic() + patience.total_seconds()
        for each in due:
            rest = timedelta(seconds=max(0.0, until - time.monotonic()))
            left[each.topic.name] = await_gone(partial(_logged, each), rest)
    return [
        _log_line(each, sum(before[each.topic.name].values()), left[each.topic.name], settings[each.topic.name])
        for each in topics
    ]


def _logged(each: TopicOf) -> int:
    return sum(messages_in(each.topic, each.matches).values())


def _log_line(each: TopicOf, before: int, left: int, settings: TopicSettings) -> Line:
    name = each.topic.name
    if left and not settings.compacted:
        return Line(
            "log", name, 0, left, f"it is not compacted: {_until(settings.retention)}", settings.retention is None
        )
    if left:
        note = "the broker has not compacted it yet: run this again later"
        return Line("log", name, before - left, left, note, wrong=True)
    note = f"delete marks with the keys alone stay for {_said(settings.tombstones_kept)}" if before else ""
    return Line("log", name, before, 0, note)


def _not_touched(sources: Sources) -> list[Line]:
    lines = []
    for each in sources.captured:
        left = len(found_in(each.topic, each.matches).live)
        note = "delete it in the database: its log writes this topic"
        lines.append(Line("table", each.owner, 0, left, note, wrong=left > 0))
    for each in sources.streams:
        settings = TopicSettings(each.topic.options, each.topic.base, each.topic.name)
        note = f"not touched, its messages never change: {_until(settings.retention)}"
        lines.append(Line("stream", each.owner, 0, _logged(each), note))
    return lines + [Line(what, name, note=note) for what, name, note in sources.elsewhere]


def _until(retention: timedelta | None) -> str:
    return "they stay for ever" if retention is None else f"each stays for {_said(retention)}"


def _said(span: timedelta) -> str:
    """Return a duration in its largest whole unit.

    >>> _said(timedelta(days=7)), _said(timedelta(minutes=90)), _said(timedelta(0))
    ('7 days', '90 minutes', '0 seconds')
    """
    seconds = int(span.total_seconds())
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}{'s' if seconds != size else ''}"
    return f"{seconds} second{'s' if seconds != 1 else ''}"
