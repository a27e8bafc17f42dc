"""Messages of the events and rejections topics go in; what a view does not show yet, and old answers, come out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Answer", "History"]

Row = dict[str, Any]
Place = tuple[int, int]
"""A partition and an offset."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command led to: the number of its first event, or the reason why it was refused."""

    at: int
    number: int | None = None
    reason: str | None = None
    place: Place | None = None


@dataclass(slots=True)
class History:
    """The events from some offsets on, by entity and number, and what commands were answered.

    ``base`` are the offsets: every event at or after them is here, unless it was removed.
    """

    base: Mapping[int, int] = field(default_factory=dict)
    events: dict[Any, dict[int, tuple[Row, Place | None]]] = field(default_factory=dict)
    answers: dict[Any, dict[str, Answer]] = field(default_factory=dict)

    def happened(self, entity: Any, number: int, event: Row, command: str | None, at: int, place: Place | None) -> None:
        """Take in an event; it may be told of twice, first by its writer and then with its place."""
        self.events.setdefault(entity, {})[number] = (event, place)
        if command is not None:
            known = self.answers.setdefault(entity, {})
            first = known.get(command)
            if first is None or first.number is None or number <= first.number:
                known[command] = Answer(at, number, place=place)

    def removed(self, entity: Any, number: int) -> None:
        """Take in that an event was removed, and the answer that it stood for."""
        self.events.get(entity, {}).pop(number, None)
        if not self.events.get(entity, True):
            del self.events[entity]
        known = self.answers.get(entity, {})
        for command in [name for name, answer in known.items() if answer.number == number]:
            del known[command]
        if not known:
            self.answers.pop(entity, None)

    def refused(self, entity: Any, command: str, reason: str | None, at: int) -> None:
        """Take in a rejection; without a reason, that it was removed."""
        known = self.answers.setdefault(entity, {})
        if reason is not None:
            known[command] = Answer(at, reason=reason)
        elif command in known and known[command].reason is not None:
            del known[command]

    def answer(self, entity: Any, command: str) -> Answer | None:
        """Return what a command was answered before."""
        return self.answers.get(entity, {}).get(command)

    def after(self, entity: Any, number: int) -> list[Row]:
        """Return the events of an entity after a number, in their order."""
        known = self.events.get(entity, {})
        return [known[each][0] for each in sorted(known) if each > number]

    def unseen(self, entity: Any, number: int, positions: Mapping[int, int]) -> int | None:
        """Return an event after a number that stands before the positions, so that a view up to there must show it."""
        numbers = [
            answer.number
            for answer in self.answers.get(entity, {}).values()
            if answer.number is not None
            and answer.number > number
            and answer.place is not None
            and answer.place[1] < positions.get(answer.place[0], 0)
        ]
        return min(numbers, default=None)

    def prune(self, positions: Mapping[int, int], before: int) -> None:
        """Drop the events that a view up to some positions shows, and the answers from before an instant."""
        for entity in list(self.events):
            kept = {
                number: (event, place)
                for number, (event, place) in self.events[entity].items()
                if place is None or place[1] >= positions.get(place[0], 0)
            }
            if kept:
                self.events[entity] = kept
            else:
                del self.events[entity]
        for entity in list(self.answers):
            fresh = {command: answer for command, answer in self.answers[entity].items() if answer.at >= before}
            if fresh:
                self.answers[entity] = fresh
            else:
                del self.answers[entity]
        self.base = {partition: max(offset, positions.get(partition, 0)) for partition, offset in self.base.items()}
