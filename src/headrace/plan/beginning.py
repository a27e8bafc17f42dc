"""A plan and an instant go in; where each of its sources begins comes out, in words and for those that read it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from headrace.catalog.objects import Stream, Table
from headrace.connectors.datagen.options import DatagenSource
from headrace.connectors.files.options import FilesSource
from headrace.connectors.kafka.options import KafkaSource
from headrace.connectors.socket.options import SocketSource
from headrace.errors import PlanError
from headrace.plan.outputs import Output
from headrace.plan.scope import did_you_mean
from headrace.plan.steps import ReadDead, ReadTable, Scan, walk

__all__ = ["FILE", "Beginning", "SourceBegins", "beginning", "begins", "check_instant", "sources_of"]

FILE = "begin.json"
"""Lies in a state for as long as that lives: what it holds began then, also for queries that are added later."""

_CAN = "Streams from Kafka and from files can."


@dataclass(frozen=True, slots=True)
class Beginning:
    """An instant, and the streams that begin there; names are in lower case."""

    at: datetime
    streams: tuple[str, ...]

    def of(self, stream: str) -> datetime | None:
        """Return when a stream begins, None if it begins as it always does."""
        return self.at if stream.lower() in self.streams else None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"at": self.at.isoformat(), "streams": list(self.streams)}

    def text(self) -> str:
        """Return what its file holds."""
        return json.dumps(self.as_dict())

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return what a file holds."""
        plain = json.loads(text)
        return cls(datetime.fromisoformat(plain["at"]), tuple(plain["streams"]))


@dataclass(frozen=True, slots=True)
class SourceBegins:
    """Where a stream or table begins, in words; ``at_time`` says whether that is the time that was asked for."""

    source: str
    at_time: bool
    where: str


def check_instant(at: datetime, now: datetime) -> datetime:
    """Return an instant in UTC that sources can begin at; raise for one that has not come yet.

    >>> check_instant(datetime(2024, 5, 1), datetime(2024, 6, 1, tzinfo=UTC)).isoformat()
    '2024-05-01T00:00:00+00:00'
    """
    try:
        instant = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise PlanError(f"{at.isoformat()} is out of reach", hint="Begin at a time since 1970.") from None
    if instant > now:
        raise PlanError(f"{_shown(instant)} has not come yet", hint="Begin at a time that has passed.")
    if instant < datetime(1970, 1, 1, tzinfo=UTC):
        raise PlanError(f"{_shown(instant)} is before 1970", hint="Start fresh: everything that is there is read.")
    return instant


def begins(outputs: Iterable[Output], at: datetime, chosen: Sequence[str] = ()) -> tuple[SourceBegins, ...]:
    """Return where each source of some outputs begins if those that are chosen, or all, are to begin at an instant.

    Raise for a name that is no source, for one that cannot begin at a time, and if none can.
    """
    sources = sources_of(outputs)
    names = {each.name.lower() for each in sources}
    for name in chosen:
        if name.lower() not in names:
            raise PlanError(
                f'the application reads no source "{name}"', hint=did_you_mean(name, [each.name for each in sources])
            )
    wanted = {name.lower() for name in chosen} or names
    found = tuple(
        _begins(each, at) if each.name.lower() in wanted else SourceBegins(each.name, False, "as it always begins")
        for each in sources
    )
    refused = [each for each in found if not each.at_time and chosen and each.source.lower() in wanted]
    if refused:
        told = ", ".join(each.source for each in refused)
        raise PlanError(f"{told} cannot begin at a time", detail=_told(refused), hint=f"{_CAN} Leave the others out.")
    if not any(each.at_time for each in found):
        raise PlanError(
            "no source of the application can begin at a time", detail=_told(found), hint=f"{_CAN} Start fresh instead."
        )
    return found


def beginning(at: datetime, sources: Iterable[SourceBegins]) -> Beginning:
    """Return what is noted with a state."""
    return Beginning(at, tuple(each.source.lower() for each in sources if each.at_time))


def sources_of(outputs: Iterable[Output]) -> tuple[Stream | Table, ...]:
    """Return the streams and tables that outputs read, each once, in the order of their names."""
    found: dict[str, Stream | Table] = {}
    for output in outputs:
        for step in walk(output.relation.step):
            match step:
                case Scan() | ReadDead():
                    found[step.stream.name.lower()] = step.stream
                case ReadTable():
                    found[step.table.name.lower()] = step.table
    return tuple(found[name] for name in sorted(found))


def _begins(source: Stream | Table, at: datetime) -> SourceBegins:
    if isinstance(source, Table):
        return SourceBegins(source.name, False, "a table is read whole, as always")
    match source.options:
        case KafkaSource():
            where = f"the first message of each partition that is not earlier than {_shown(at)}; its end without one"
            return SourceBegins(source.name, True, where)
        case FilesSource():
            return SourceBegins(source.name, True, f"files that were modified at {_shown(at)} or later")
        case DatagenSource():
            return SourceBegins(source.name, False, "a generator always begins anew")
        case SocketSource():
            return SourceBegins(source.name, False, "a socket cannot give again what it gave")
    return SourceBegins(source.name, False, "what a program fed is gone")


def _told(sources: Sequence[SourceBegins]) -> str | None:
    return "; ".join(f"{each.source}: {each.where}" for each in sources) + "." if sources else None


def _shown(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
