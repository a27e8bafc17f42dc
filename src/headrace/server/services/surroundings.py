"""Who asks, and the job or the folder that a text belongs to, go in; what fills it and where its paths are come out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from headrace.errors import HeadraceError, is_secret_name
from headrace.jobs.submission import named_folder
from headrace.server.access.access import Access
from headrace.server.access.decisions import Who
from headrace.server.access.roles import Action
from headrace.server.services.applications import application_target
from headrace.server.services.job_reading import JobReading

__all__ = ["Surroundings", "around_job", "around_text"]

Told = TypeVar("Told")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The folder that paths and functions of a text are looked for in, and the values of its variables."""

    directory: Path
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)

    def starred(self, told: Told) -> Told:
        """Return what is told of a text, without the values of variables whose names sound secret."""
        secrets = {value for name, value in self.variables.items() if value and is_secret_name(name)}
        written = {form for value in secrets for form in _written(value)}
        return _starred(told, sorted(written, key=len, reverse=True)) if written else told

    @contextmanager
    def starring(self) -> Iterator[None]:
        """Let mistakes that are told inside not tell those values either."""
        try:
            yield
        except HeadraceError as error:
            error.message, error.detail, error.hint = self.starred((error.message, error.detail, error.hint))
            raise


def around_job(who: Who, name: str, jobs: JobReading, scratch: Path) -> Surroundings:
    """Return what the text of a job has around it, to one who may give it another text; else nothing."""
    version = jobs.changeable(who, name) if name else None
    return Surroundings(scratch) if version is None else Surroundings(Path(version.directory), version.variables)


def around_text(
    who: Who, name: str | None, directory: str | None, variables: Mapping[str, str], access: Access, scratch: Path
) -> Surroundings:
    """Return what somebody gives along with a text; a folder is for those to name who may submit the text.

    That is asked of the application that the text is, and of applications in general if it is none yet.
    """
    if directory is None:
        return Surroundings(scratch, variables)
    access.require_name(who, Action.SUBMIT, application_target(name or ""))
    return Surroundings(named_folder(Path(directory)), variables)


def _written(value: str) -> set[str]:
    r"""Return how a value may stand in SQL: as it is, or with its quotes and backslashes escaped.

    >>> sorted(_written("a'b"))
    ["a''b", "a'b", "a\\'b"]
    """
    slashed = value.replace("\\", "\\\\")
    return {
        value,
        slashed,
        value.replace("'", "''"),
        slashed.replace("'", "''"),
        slashed.replace("'", "\\'"),
        slashed.replace('"', '\\"'),
        slashed.replace("'", "\\'").replace('"', '\\"'),
    }


def _starred(told: Any, secrets: list[str]) -> Any:
    if type(told) is str:
        for each in secrets:
            told = told.replace(each, "****")
        return told
    if isinstance(told, list | tuple):
        return type(told)(_starred(each, secrets) for each in told)
    if is_dataclass(told) and not isinstance(told, type):
        return replace(told, **{each.name: _starred(getattr(told, each.name), secrets) for each in fields(told)})
    return told
