"""A view and the events after it go in; the state of each entity, and what commands were answered, come out."""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from confluent_kafka import Message

from headrace.errors import HeadraceError
from headrace.events.clients import Follower, name_of, place_of
from headrace.events.current import CurrentRows
from headrace.events.decisions import COMMAND_ID, Decide, Deciding, Decision, Evolve, Row, State, folded
from headrace.events.history import History
from headrace.events.rows import Unreadable, parsed, reader, value_bytes
from headrace.events.shape import REASON, EventTables
from headrace.language.mistakes import did_you_mean

__all__ = ["States"]

PRUNE_EVERY = 1000


class States:
    """What is known of each entity: the view's row, the events that it does not show yet, and old answers."""

    def __init__(
        self, tables: EventTables, view: CurrentRows, remember: timedelta, notice: Callable[[str], None]
    ) -> None:
        self._tables, self._view = tables, view
        self._remember, self._notice = remember, notice
        self._history = History()
        self._since_prune = 0
        self._read_event = reader(tables.events.columns, (tables.key, tables.number))

    def load(self, events: Follower, rejections: Follower) -> None:
        """Read what the view does not show yet, and what was answered of late."""
        since = self._oldest()
        shown, fresh = self._view.positions(), events.offsets_at(since)
        self._history = History({each: min(shown.get(each, 0), fresh[each]) for each in events.partitions})
        self.take_events(events.from_offsets(self._history.base))
        self.take_rejections(rejections.from_offsets(rejections.offsets_at(since)))

    def _oldest(self) -> int:
        return int((time.time() - self._remember.total_seconds()) * 1000)

    def take_events(self, messages: Iterable[Message]) -> None:
        """Take in messages of the events topic."""
        key, number = self._tables.key, self._tables.number
        oldest = self._oldest()
        for message in messages:
            try:
                if message.value() is None:
                    gone = parsed(message.key())
                    self._history.removed(gone.get(key), int(gone.get(number) or 0))
                    continue
                event = self._read_event(parsed(message.value()))
            except (Unreadable, ValueError, TypeError) as error:
                self._notice(f"{name_of(message)} is not an event: {error}")
                continue
            at = message.timestamp()[1]
            command = event[COMMAND_ID] if at >= oldest else None
            self._history.happened(event[key], event[number], event, command, at, place_of(message))

    def take_rejections(self, messages: Iterable[Message]) -> None:
        """Take in messages of the rejections topic."""
        for message in messages:
            try:
                known = parsed(message.key())
                entity, command = known[self._tables.key], known[COMMAND_ID]
                reason = None if message.value() is None else str(parsed(message.value()).get(REASON))
            except (Unreadable, KeyError) as error:
                self._notice(f"{name_of(message)} is not a rejection: {error}")
                continue
            self._history.refused(entity, command, reason, message.timestamp()[1])

    def are_behind(self) -> bool:
        """Say whether the view shows less than it did when its events were read: it is being built anew."""
        shown = self._view.positions()
        return any(shown.get(partition, 0) < offset for partition, offset in self._history.base.items())

    def deciding(self, decide: Decide, evolve: Evolve, catch_up: Callable[[], None]) -> Deciding:
        """Return what decides the next commands, on the view as it is now."""
        key, number = self._tables.key, self._tables.number
        shown = self._view.positions()

        def look(entity: Any) -> State | None:
            state = self._view.row(entity)
            last = int((state or {}).get(number) or 0)
            if self._history.unseen(entity, last, shown) is not None:
                catch_up()  # what the view no longer shows may just have been removed
                self._check_shown(entity, last, shown)
            for event in self._history.after(entity, last):
                state = folded(state, event, evolve, number)
            return state

        return Deciding(key, number, decide, evolve, look, self._shaped)

    def _check_shown(self, entity: Any, last: int, shown: Mapping[int, int]) -> None:
        missing = self._history.unseen(entity, last, shown)
        if missing is not None:
            key, number = self._tables.key, self._tables.number
            raise HeadraceError(
                f"the view does not show event {missing} of {key} {entity}, though it has read it",
                hint=f"It needs a row for each {key} that has events, with max({number}) AS {number}.",
            )

    def _shaped(self, event: Row) -> Row:
        """Return an event as it will be read, or raise if it does not fit its table."""
        known = {column.name for column in self._tables.events.columns}
        for name in event:
            if name not in known:
                hint = did_you_mean(str(name), known)
                raise HeadraceError(f'decide gave an event with "{name}", which is no column of events', hint=hint)
        try:
            return dict(self._read_event(parsed(value_bytes(event))))
        except Unreadable as error:
            raise HeadraceError(
                "decide gave an event that does not fit its table", detail=f"In it: {error}."
            ) from error

    def answered(self, command: Row) -> Decision | None:
        """Return the decision of a command that comes again: a rejection is told again, events are there."""
        known = self._history.answer(command[self._tables.key], command[COMMAND_ID])
        return None if known is None else Decision(command, reason=known.reason)

    def committed(self, decisions: Iterable[Decision]) -> None:
        """Take in decisions whose transaction is committed."""
        key, number = self._tables.key, self._tables.number
        now = int(time.time() * 1000)
        for each in decisions:
            for event in each.events:
                self._history.happened(event[key], event[number], event, event[COMMAND_ID], now, None)
            if each.reason is not None:
                self._history.refused(each.command[key], each.command[COMMAND_ID], each.reason, now)
            self._since_prune += 1
        if self._since_prune >= PRUNE_EVERY:
            self._since_prune = 0
            self._history.prune(self._view.positions(), self._oldest())
