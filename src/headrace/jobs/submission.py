"""What is handed in with a new job or version goes in; its text, its claim and its rows come out."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.jobs.decisions import Wanted
from headrace.jobs.model import Version
from headrace.jobs.queue import Claim
from headrace.jobs.states import State
from headrace.plan.application import Plan
from headrace.plan.real_time import is_real_time
from headrace.records.job_tables import JobRow, VersionRow

__all__ = [
    "NAME",
    "check_cores",
    "check_master",
    "check_name",
    "check_start",
    "checked",
    "claim_of",
    "is_name",
    "name_of",
    "named_folder",
    "new_row",
    "read_application",
    "version_row",
]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
IDENTITY = re.compile(r"[0-9a-f]{12}", re.IGNORECASE)
"""What the ids of jobs look like: none can be called so, since a job is found by either."""
MASTER = re.compile(r"local(\[(\d+|\*)(\s*,\s*(\d+|\*))?\])?|spark://\S+|yarn|k8s://\S+")
MEMORY = 1024
"""Megabytes for a job that asks for nothing."""
_UNITS = {"": 1 / 1024**2, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}


def check_name(name: str) -> None:
    """Raise unless a job can be called so: its name is part of the names of folders and of queries in databases."""
    if not NAME.fullmatch(name):
        raise HeadraceError(
            f'"{name}" is not a name for a job',
            detail="A name has up to 100 letters, digits, _, - and ., and begins with a letter or digit.",
            hint="Choose another name.",
        )
    if IDENTITY.fullmatch(name):
        raise HeadraceError(
            f'"{name}" is not a name for a job',
            detail="It looks like the id of one: 12 of the letters a to f and the digits.",
            hint="Choose another name.",
        )


def is_name(name: str) -> bool:
    """Say whether a job can be called so.

    >>> is_name("shop"), is_name("a query"), is_name("0123456789ab")
    (True, False, False)
    """
    return NAME.fullmatch(name) is not None and IDENTITY.fullmatch(name) is None


def check_master(master: str | None) -> None:
    """Raise unless Spark knows what a master is."""
    if master is not None and not MASTER.fullmatch(master):
        raise HeadraceError(
            f'"{master}" is not a master that Spark knows',
            hint="Masters are local[N], spark://HOST:PORT, yarn and k8s://ADDRESS.",
        )
    if master is not None and master.startswith("local[*"):
        raise HeadraceError(
            f'the master "{master}" takes all cores of the machine',
            detail="Jobs share them, so that each says how many it takes.",
            hint="Name a number, such as local[2], or no master and as many cores.",
        )


def check_cores(name: str, master: str | None) -> None:
    """Raise if a job cannot be given other cores, since its master says how many it has."""
    if local_cores(master) is not None:
        raise HeadraceError(
            f'job "{name}" has the cores that its master says: {master}',
            hint="Submit it without a master to give it others.",
        )


def local_cores(master: str | None) -> int | None:
    """Return how many cores a master on this machine takes, None if there is no such master.

    >>> local_cores("local[4]"), local_cores("local[4, 3]"), local_cores("local"), local_cores("spark://host:7077")
    (4, 4, 1, None)
    """
    found = re.fullmatch(r"local(\[(\d+).*\])?", master or "")
    return None if found is None else int(found[2] or 1)


def check_start(savepoint: str | None, fresh: bool, from_time: datetime | None, sources: Sequence[str]) -> None:
    """Raise if a job cannot start again in all these ways at once."""
    if savepoint is not None and (fresh or from_time is not None):
        raise HeadraceError("a savepoint and a fresh start do not go together", hint="Choose one of them.")
    if sources and from_time is None:
        raise HeadraceError("sources are named, but no time for them to begin at", hint="Give the time too.")


def read_application(text: str | None, file: Path | None, directory: Path | None, default: Path) -> tuple[str, Path]:
    """Return the text of an application and the folder that its paths are relative to."""
    if (text is None) == (file is None):
        raise HeadraceError("an application is given either as text or as a file")
    named = None if directory is None else named_folder(directory)
    if file is None:
        assert text is not None
        return text, named or default.resolve()
    try:
        return file.read_text("utf-8"), named or file.resolve().parent
    except OSError as error:
        raise HeadraceError(f'file "{file}" cannot be read', detail=f"{error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HeadraceError(f'file "{file}" is not UTF-8 text', detail=f"{error}.") from error


def named_folder(directory: Path) -> Path:
    """Return the folder that somebody named; raise if it is not there."""
    try:
        there = directory.resolve()
        is_folder = there.is_dir()
    except OSError as error:  # a name that is too long, or a place that may not be looked into
        raise HeadraceError(f'the folder "{directory}" cannot be used', detail=f"{error.strerror}.") from error
    if not is_folder:
        what = "is not a folder" if there.exists() else "is not there"
        raise HeadraceError(
            f'the folder "{directory}" {what}',
            detail="Paths of the application are relative to it, on the server's machine.",
            hint="Name a folder that is there, or none.",
        )
    return there


def name_of(file: Path) -> str:
    """Return the name of a job that runs a file."""
    folder = file.resolve().parent.name
    return folder if file.stem == "application" and folder else file.stem


def claim_of(name: str, cores: int, memory: int | None, master: str | None, plan: Plan) -> Claim:
    """Return what a job uses of the machine; memory that nobody asks for is what SET says, or the least that suits.

    A master on this machine says how many cores; only those of real time are threads that wait most of the time.
    """
    named = local_cores(master)
    if named is not None and not any(is_real_time(output, plan.settings) for output in plan.outputs):
        cores = named
    asked = memory if memory is not None else _megabytes(plan.settings.spark.get("spark.driver.memory"))
    return checked(Claim(name, cores, asked))


def checked(claim: Claim) -> Claim:
    """Return a claim; raise if no job could run with so little."""
    if claim.cores < 1:
        raise HeadraceError("a job needs at least one core")
    if claim.memory < 512:
        raise HeadraceError(
            f"{claim.memory} MB of memory are too little", detail="Spark does not start with less than 512 MB."
        )
    return claim


def _megabytes(text: str | None) -> int:
    """Return a size of Java in megabytes.

    >>> _megabytes("2g"), _megabytes("1500m"), _megabytes(None)
    (2048, 1500, 1024)
    """
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", (text or "").strip().lower())
    return MEMORY if found is None else int(int(found[1]) * _UNITS[found[2]])


def new_row(job_id: str, claim: Claim, master: str | None, owner: str | None, now: datetime) -> JobRow:
    """Return the row of a job that has just come."""
    return JobRow(
        id=job_id,
        name=claim.name,
        owner=owner,
        state=str(State.SUBMITTED),
        wanted=str(Wanted.RUN),
        reason="waits for its turn",
        error=None,
        version=1,
        ran_version=0,
        attempt=0,
        restarts=[],
        restart_count=0,
        waits=0,
        launch_at=None,
        since=now,
        submitted_at=now,
        queued_at=now,
        cores=claim.cores,
        memory=claim.memory,
        master=master,
        savepoint=None,
        pending=None,
        deleted_at=None,
        revision=1,
    )


def version_row(version: Version, **changed: Any) -> VersionRow:
    """Return the row of a version."""
    values = {name: getattr(version, name) for name in Version.__dataclass_fields__} | changed
    values["provides"], values["uses"] = list(version.provides), list(version.uses)
    values["imports"] = [each.as_dict() for each in version.imports]
    return VersionRow(**values)
