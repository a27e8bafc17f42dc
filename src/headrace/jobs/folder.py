"""The folder of a job, all that its server and its driver have in common: either may be killed at any moment.

Files are replaced whole, so a reader sees the old or the new one. The lock is held by the driver for its whole life;
``flock`` lets go when a process ends, however it ends.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from headrace.errors import HeadraceError
from headrace.jobs.figures import History
from headrace.jobs.last_rows import LastRow
from headrace.jobs.reports import Cause, Report

__all__ = ["Driver", "Ending", "Heartbeat", "JobFolder", "Launch", "Outcome", "Phase", "write_whole"]

Phase = str
"""``starting``, ``running`` or ``stopping``."""
Ending = str
"""``finished``, ``stopped`` or ``failed``."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What a driver is to run; ``has_run`` says that this version ran before, so that its text is no mistake."""

    attempt: int
    name: str
    application: str
    directory: str
    state: str
    variables: Mapping[str, str] = field(default_factory=dict)
    master: str | None = None
    cores: int = 1
    memory: int = 1024
    """Of the driver's Java, in megabytes."""
    has_run: bool = False
    version: int = 0
    imports: tuple[Mapping[str, Any], ...] = ()
    """What it reads of other jobs, as `Import.as_dict` writes it: a driver needs no server to know."""
    beside: bool = False
    """Whether another driver keeps the views that people read, so that this one is not to be found by name."""
    only: tuple[str, ...] = ()
    """The outputs to run; all of them if none is named."""


@dataclass(frozen=True, slots=True)
class Driver:
    """The process of an attempt; a number alone may be a stranger's by now, so the time of its start is with it."""

    attempt: int
    pid: int
    started_at: float
    """As the system counts it: only to be compared."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What a driver says of itself every second; a new ``beat`` is a sign of life whatever the clocks say."""

    attempt: int
    beat: int
    at: datetime
    phase: Phase
    outputs: tuple[Mapping[str, Any], ...] = ()
    """The figures of each output, as `figures.as_dict` writes them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended, if its driver could still say so."""

    attempt: int
    ending: Ending
    at: datetime
    cause: Cause | None = None
    error: Report | None = None


_Kept = TypeVar("_Kept", Launch, Driver, Heartbeat, Outcome)


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder of one job; what is missing, half written by hand or of another version reads as None."""

    path: Path

    @property
    def lock_path(self) -> Path:
        """The file that a living driver holds."""
        return self.path / "lock"

    @property
    def log_path(self) -> Path:
        """What driver and Java say; older lines are in files with a number behind the name."""
        return self.path / "driver.log"

    @property
    def application_path(self) -> Path:
        """The text of the version that runs."""
        return self.path / "application.sql"

    @property
    def state_path(self) -> Path:
        """The checkpoints and views, if they are on this machine."""
        return self.path / "state"

    @property
    def savepoints_path(self) -> Path:
        """Copies of the state, each in a folder of its own."""
        return self.path / "savepoints"

    @property
    def work_path(self) -> Path:
        """What paths of an application are relative to that names no folder."""
        return self.path / "work"

    @property
    def requests_path(self) -> Path:
        """What the driver is asked for, a file each."""
        return self.path / "requests"

    def make(self) -> Self:
        """Make the folder, for this user alone: variables may be passwords."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.requests_path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise HeadraceError(
                f'the folder "{self.path}" cannot be made',
                detail=f"{error.strerror}.",
                hint="Make room or give rights.",
            ) from error
        return self

    # --- the lock ---------------------------------------------------------------------------------------

    def take_lock(self) -> int | None:
        """Take the lock and return its handle, None if a driver holds it; it is held until every copy is closed."""
        handle = os.open(self.lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        return handle

    def is_locked(self) -> bool:
        """Say whether a driver lives."""
        try:
            handle = os.open(self.lock_path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    # --- what the server writes ---------------------------------------------------------------------------

    def write_launch(self, launch: Launch) -> None:
        """Say what is to run, and clear what earlier attempts left; only for who holds the lock."""
        for name in ("outcome.json", "heartbeat.json"):
            (self.path / name).unlink(missing_ok=True)
        for request in self.requests_path.glob("*.json"):
            request.unlink(missing_ok=True)
        self._write("launch.json", asdict(launch), durable=True)

    def ask(self, kind: str, attempt: int) -> None:
        """Ask the driver of an attempt for something; to ask twice is to ask once."""
        file = self._request(kind, attempt)
        if not file.exists():
            write_whole(file, json.dumps({"kind": kind, "attempt": attempt}), durable=True)

    # --- what the driver writes -----------------------------------------------------------------------------

    def write_driver(self, driver: Driver) -> None:
        """Say which process runs an attempt."""
        self._write("driver.json", asdict(driver), durable=True)

    def write_heartbeat(self, heartbeat: Heartbeat) -> None:
        """Give a sign of life."""
        self._write("heartbeat.json", {**asdict(heartbeat), "at": heartbeat.at.isoformat()}, durable=False)

    def write_outcome(self, outcome: Outcome) -> None:
        """Say how an attempt ended."""
        self._write("outcome.json", {**asdict(outcome), "at": outcome.at.isoformat()}, durable=True)

    def write_types(self, version: int, types: Mapping[str, Mapping[str, str]]) -> None:
        """Keep the types that Spark gave the outputs of a version, by output and column, for those who read them."""
        self._write("types.json", {"version": version, "types": types}, durable=False)

    def write_history(self, history: History) -> None:
        """Keep the points of small charts for readers, and for the next driver."""
        self._write("history.json", {"points": history.as_list()}, durable=False)

    def write_last_rows(self, rows: Sequence[LastRow]) -> None:
        """Keep the last rows of outputs that are only shown."""
        self._write("rows.json", {"rows": [asdict(each) for each in rows]}, durable=False)

    # --- reading --------------------------------------------------------------------------------------------

    def launch(self) -> Launch | None:
        """Return what was last to be run."""
        values = self._read("launch.json")
        return (
            None
            if values is None
            else _made(
                Launch,
                {**values, "imports": tuple(values.get("imports", ())), "only": tuple(values.get("only", ()))},
            )
        )

    def driver(self) -> Driver | None:
        """Return the last driver."""
        values = self._read("driver.json")
        return None if values is None else _made(Driver, values)

    def heartbeat(self) -> Heartbeat | None:
        """Return the last sign of life."""
        values = self._read("heartbeat.json")
        if values is None:
            return None
        at, outputs = _instant(values.get("at")), values.get("outputs")
        plain = [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []
        return None if at is None else _made(Heartbeat, {**values, "at": at, "outputs": tuple(plain)})

    def outcome(self) -> Outcome | None:
        """Return how the last attempt ended."""
        values = self._read("outcome.json")
        at = None if values is None else _instant(values.get("at"))
        if values is None or at is None:
            return None
        cause = values.get("cause")
        known = Cause(cause) if cause in set(Cause) else None
        error = Report.from_dict(values.get("error"))
        return _made(Outcome, {**values, "at": at, "cause": known, "error": error})

    def history(self) -> History:
        """Return the points of small charts."""
        return History.from_list((self._read("history.json") or {}).get("points"))

    def types(self, version: int) -> dict[str, dict[str, str]]:
        """Return the types of the outputs of a version, nothing if it never ran."""
        values = self._read("types.json") or {}
        found = values.get("types")
        return found if values.get("version") == version and isinstance(found, dict) else {}

    def last_rows(self) -> list[LastRow]:
        """Return the last rows of outputs that are only shown, the oldest first."""
        found = (self._read("rows.json") or {}).get("rows")
        rows = [LastRow.from_dict(each) for each in found if isinstance(each, dict)] if isinstance(found, list) else []
        return [each for each in rows if each is not None]

    def is_asked(self, kind: str, attempt: int) -> bool:
        """Say whether the driver of an attempt is asked for something."""
        return self._request(kind, attempt).exists()

    def _request(self, kind: str, attempt: int) -> Path:
        return self.requests_path / f"{kind}-{attempt}.json"

    def _write(self, name: str, values: Mapping[str, Any], *, durable: bool) -> None:
        write_whole(self.path / name, json.dumps(values), durable=durable)

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            values = json.loads((self.path / name).read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return values if isinstance(values, dict) else None


def write_whole(file: Path, text: str, *, durable: bool) -> None:
    """Replace a file at once; ``durable`` also against a machine without power."""
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}.new")
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as writer:
            writer.write(text)
            if durable:
                writer.flush()
                os.fsync(writer.fileno())
        os.replace(fresh, file)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _made(kind: type[_Kept], values: Mapping[str, Any]) -> _Kept | None:
    """Return what plain values stand for; fields of a newer version are left out, missing ones make it unknown."""
    known = {each.name for each in fields(kind)}
    try:
        return kind(**{name: value for name, value in values.items() if name in known})
    except TypeError:
        return None


def _instant(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
