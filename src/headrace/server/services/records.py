"""Places that EVIDENCE() noted go in; the records that stand there come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.connectors.files.options import FilesSource, FilesTable
from headrace.connectors.kafka.options import KafkaReading
from headrace.server.access.decisions import Who
from headrace.server.access.roles import Action
from headrace.server.services.catalog import Catalog, CatalogObject
from headrace.server.services.file_tap import may_lead_to
from headrace.server.services.job_reading import JobReading
from headrace.server.services.tap import Tap, open_tap
from headrace.server.services.tapped import Tapped
from headrace.server.services.topic_tap import TopicTap

__all__ = ["Place", "Record", "SourceRecords"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: topic, partition and offset; or file, the byte at which its block begins, and number.

    >>> Place.read("payments:3:17")
    Place(source='payments', partition=3, position=17)
    """

    source: str
    partition: int
    position: int

    def __str__(self) -> str:
        return f"{self.source}:{self.partition}:{self.position}"

    @classmethod
    def read(cls, text: str) -> "Place":
        """Read a place as it is written; a source may have colons too."""
        source, partition, position = text.rsplit(":", 2)
        return cls(source, int(partition), int(position))


@dataclass(frozen=True, slots=True)
class Record:
    """What stands at a place: the stream that reads it, and the record; none if it is gone or nobody reads it."""

    place: Place
    stream: str | None
    found: Tapped | None


class SourceRecords:
    """Looks up records where the sources of jobs have them; no job notices."""

    def __init__(self, jobs: JobReading, catalog: Catalog) -> None:
        self._jobs, self._catalog = jobs, catalog

    def at(self, who: Who, job: str, places: Sequence[Place]) -> list[Record]:
        """Return what stands at some places that a job has read, to one who may look into the streams of these."""
        name = self._jobs.show(who, job).name
        reading = [each for each in self._catalog.all(who) if each.kind in {"stream", "table"}]
        reading.sort(key=lambda each: each.job != name)  # its own first; others may be read by their names
        taps: dict[tuple[tuple[str, str], str], Tap] = {}
        try:
            return [self._at(who, place, reading, taps) for place in places]
        finally:
            for tap in taps.values():
                tap.close()

    def _at(
        self,
        who: Who,
        place: Place,
        reading: Sequence[CatalogObject],
        taps: dict[tuple[tuple[str, str], str], Tap],
    ) -> Record:
        for thing in reading:
            if not _may_read(thing, place.source):
                continue
            known = (thing.known_as, place.source)
            if known not in taps:
                self._catalog.find(who, f"{thing.job}.{thing.name}", Action.TAP)
                taps[known] = _opened(thing, place.source)
            found = taps[known].at(place.source, place.partition, place.position)
            if found is not None:
                return Record(place, thing.name, found)
        return Record(place, None, None)


def _may_read(thing: CatalogObject, source: str) -> bool:
    """Say whether a stream or table may have read something; of files below its path, only a look can tell."""
    match getattr(thing.source, "options", None):
        case KafkaReading() as options:
            return options.reads(source)
        case FilesSource(path=path) | FilesTable(path=path):
            return may_lead_to(path, Path(thing.planned.version.directory), source)
    return False


def _opened(thing: CatalogObject, source: str) -> Tap:
    options = getattr(thing.source, "options", None)
    if isinstance(options, KafkaReading):  # one topic of perhaps many
        return TopicTap(options, [source], Path(thing.planned.version.directory))
    return open_tap(thing)
