"""Where a run keeps its things and what time it is: files, feeds, checkpoints, clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from headrace.plan.beginning import Beginning
from headrace.plan.observing import Observation
from headrace.spark.storage import Folder

FAR = datetime(9000, 1, 1, tzinfo=UTC)
"""An instant after every event: a control row of this time lets every watermark pass."""


def now() -> datetime:
    """Return the clock's time, in UTC."""
    return datetime.now(UTC)


def micros(instant: datetime) -> int:
    """Return an instant as microseconds since 1970."""
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@dataclass(slots=True)
class Place:
    """The folders of one run.

    ``fed`` are streams whose rows come from the program instead of their connector; ``controlled`` says
    that watermarks can be moved from outside; ``bounded`` that the run ends with the input; ``feeds`` is the
    state folder below which rows are fed, if that is not the run's own. ``real_time`` holds while a query of that mode
    is made; ``partitions`` are those of each topic of the Kafka streams that were seen so far. ``beginning`` says where
    streams begin in a state that does not begin with all that they hold.
    """

    base: Path
    state: str
    fed: frozenset[str] = frozenset()
    controlled: bool = False
    bounded: bool = False
    feeds: str | None = None
    clock: Callable[[], datetime] = now
    started_at: datetime = field(default_factory=now)
    real_time: bool = False
    observers: int = 0
    partitions: dict[str, dict[str, int]] = field(default_factory=dict)
    beginning: Beginning | None = None
    observations: list[Observation] = field(default_factory=list)
    """What is still to be observed: each once, by the first query that reads its stream."""
    adds_up: frozenset[tuple[str, str]] = frozenset()
    """Figures of observations that can be added up over batches."""

    def folder(self, *parts: str) -> Folder:
        """Return a folder below the state folder."""
        return Folder("/".join((self.state.rstrip("/"), *parts)))

    def feed(self, stream: str) -> Folder:
        """Return the folder whose files are the rows of a fed stream."""
        return Folder("/".join(((self.feeds or self.state).rstrip("/"), "feeds", stream.lower())))

    def control(self, stream: str) -> Folder:
        """Return the folder whose files move the watermark of a stream."""
        return self.folder("control", stream.lower())

    def begins_at(self, stream: str) -> datetime | None:
        """Return when a stream begins, None if it begins as it always does."""
        return None if self.beginning is None else self.beginning.of(stream)

    @property
    def is_local(self) -> bool:
        """Whether the state folder is on this machine's disk."""
        return urlsplit(self.state).scheme in ("", "file")
