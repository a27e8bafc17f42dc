"""An application and three names go in; the tables of commands, events and rejections come out, checked."""

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.catalog.objects import Stream, Table
from headrace.connectors.kafka.options import KafkaReading
from headrace.errors import PlanError, Span
from headrace.events.decisions import COMMAND_ID
from headrace.language.mistakes import did_you_mean
from headrace.plan.application import Plan

__all__ = ["REASON", "EventTables", "event_tables"]

REASON = "reason"
"""The column of rejections that says why."""


@dataclass(frozen=True, slots=True)
class EventTables:
    """The stream of commands, the table of events and that of rejections.

    ``key`` is the column that names an entity, ``number`` that of an event's place in the entity's history.
    """

    commands: Stream
    events: Table
    rejections: Table
    key: str
    number: str

    @property
    def commands_topic(self) -> str:
        """The topic of the commands."""
        return str(self.commands.options.topic[0])

    @property
    def events_topic(self) -> str:
        """The topic of the events."""
        return str(self.events.options.topic[0])

    @property
    def events_key(self) -> tuple[str, ...]:
        """The columns of an event's message key."""
        return tuple(self.events.options.key) or self.events.primary_key

    @property
    def rejections_key(self) -> tuple[str, ...]:
        """The columns of a rejection's message key."""
        return tuple(self.rejections.options.key) or self.rejections.primary_key

    @property
    def rejections_topic(self) -> str:
        """The topic of the rejections."""
        return str(self.rejections.options.topic[0])


def event_tables(plan: Plan, commands: str, events: str, rejections: str) -> EventTables:
    """Return the tables of an application by name, or raise what does not fit."""
    written = _table(plan, events)
    _check_topic(written, "upsert")
    if len(written.primary_key) != 2:
        raise PlanError(
            f'events in table "{written.name}" are not numbered',
            detail="An event is identified by its entity and its place in the entity's history.",
            hint="Write PRIMARY KEY (entity, number).",
            span=written.span,
        )
    declared = {column.name.lower(): column.name for column in written.columns}
    key, number = (declared[name.lower()] for name in written.primary_key)
    _check_columns(written, (COMMAND_ID,))
    refused = _table(plan, rejections)
    _check_topic(refused, "upsert")
    _check_columns(refused, (key, COMMAND_ID, REASON))
    if {name.lower() for name in refused.primary_key} != {key.lower(), COMMAND_ID}:
        raise PlanError(
            f'table "{refused.name}" is not one of rejections',
            hint=f"Write PRIMARY KEY ({key}, {COMMAND_ID}).",
            span=refused.span,
        )
    asked = plan.streams.get(commands.lower())
    if asked is None:
        raise _unknown("stream", commands, [each.name for each in plan.streams.values()])
    _check_topic(asked, "json")
    _check_columns(asked, (key, COMMAND_ID))
    return EventTables(asked, written, refused, key, number)


def _table(plan: Plan, name: str) -> Table:
    found = plan.tables.get(name.lower())
    if found is None:
        raise _unknown("table", name, [each.name for each in plan.tables.values()])
    return found


def _unknown(kind: str, name: str, known: Sequence[str]) -> PlanError:
    return PlanError(f'the application has no {kind} "{name}"', hint=did_you_mean(name, list(known)))


def _check_topic(source: Stream | Table, expected: str) -> None:
    options = source.options
    if isinstance(options, KafkaReading) and len(options.topic) == 1 and options.format == expected:
        return
    raise PlanError(
        f'"{source.name}" is not one topic of format {expected}',
        hint=f"Write WITH (connector = 'kafka', topic = 'name', format = '{expected}').",
        span=source.span,
    )


def _check_columns(source: Stream | Table, names: Sequence[str]) -> None:
    known = {column.name for column in source.columns}
    for name in names:
        if name not in known:
            raise _missing(source.name, name, source.span)


def _missing(owner: str, column: str, span: Span) -> PlanError:
    return PlanError(f'"{owner}" has no column "{column}"', hint="A handler needs it.", span=span)
