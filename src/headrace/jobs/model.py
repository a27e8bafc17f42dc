"""What a job, a version, a savepoint and an event are, as everybody outside the database sees them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self

from headrace.catalog.imports import Import
from headrace.jobs.decisions import Facts, Wanted
from headrace.jobs.queue import Claim
from headrace.jobs.reports import Report
from headrace.jobs.states import FINAL, State

__all__ = ["Event", "Job", "Page", "Savepoint", "Version"]


@dataclass(frozen=True, slots=True)
class Job:
    """An application that the server runs."""

    id: str
    name: str
    owner: str | None
    state: State
    wanted: Wanted
    reason: str
    error: Report | None
    """The last error, also after it was got over."""
    version: int
    ran_version: int
    attempt: int
    restarts: tuple[datetime, ...]
    restart_count: int
    waits: int
    launch_at: datetime | None
    since: datetime
    submitted_at: datetime
    queued_at: datetime
    cores: int
    memory: int
    master: str | None
    savepoint: str | None
    pending: Mapping[str, Any] | None
    """What is to be done to its state before the next start, and whether that has begun."""
    deleted_at: datetime | None
    revision: int
    rebuild: Mapping[str, Any] | None = None
    """Of a hidden job that builds another anew: which one, and how far it is."""

    @property
    def application(self) -> str:
        """The name of its application: that of the job which it builds, or its own."""
        return self.name.partition("#")[0]

    @property
    def is_at_rest(self) -> bool:
        """Whether it has ended and nobody wants anything of it."""
        return self.state in FINAL and self.wanted is not Wanted.RESTART and self.savepoint is None

    @property
    def is_changing(self) -> bool:
        """Whether its state is being brought to what its version needs, and may be of that or of the one before."""
        return bool((self.pending or {}).get("begun"))

    def facts(self) -> Facts:
        """Return what decisions need of it."""
        return Facts(
            state=self.state,
            wanted=self.wanted,
            attempt=self.attempt,
            restarts=self.restarts,
            waits=self.waits,
            since=self.since,
            launch_at=self.launch_at,
            savepoint=self.savepoint is not None,
            pending=self.pending is not None,
            begun=self.is_changing,
        )

    def claim(self) -> Claim:
        """Return what it uses of the machine."""
        return Claim(self.name, self.cores, self.memory)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the job that `as_dict` wrote."""
        values = dict(plain)
        for name in ("launch_at", "since", "submitted_at", "queued_at", "deleted_at"):
            values[name] = None if values[name] is None else datetime.fromisoformat(values[name])
        values["restarts"] = tuple(datetime.fromisoformat(each) for each in values["restarts"])
        values["state"], values["wanted"] = State(values["state"]), Wanted(values["wanted"])
        values["error"] = Report.from_dict(values["error"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class Version:
    """One text of a job's application; ``provides`` and ``uses`` name what it writes and reads outside of itself."""

    job_id: str
    number: int
    text: str
    directory: str
    file: str | None
    state: str
    created_at: datetime
    created_by: str | None
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    provides: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()
    """What it reads of other jobs by name."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A copy of a job's state; ``manifest`` says what is in it and what is not, once it is ready."""

    id: str
    job_id: str
    version: int
    status: str
    created_at: datetime
    created_by: str | None
    manifest: Mapping[str, Any] | None
    error: Report | None


@dataclass(frozen=True, slots=True)
class Event:
    """A move of a job."""

    id: int
    job_id: str
    at: datetime
    state: State
    reason: str
    error: Report | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some jobs, and where to go on: None if these are the last."""

    jobs: tuple[Job, ...]
    next: str | None


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case tuple():
            return [_plain(each) for each in value]
        case Report():
            return value.as_dict()
        case Mapping():
            return dict(value)
        case State() | Wanted():
            return str(value)
    return value
