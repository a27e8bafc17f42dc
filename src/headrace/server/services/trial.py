"""A text goes in; what is run to try it comes out, and goes to the process that runs it through a folder."""

import json
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.errors import HeadraceError, Source, value_without_secrets
from headrace.jobs.folder import write_whole
from headrace.jobs.offers import Resolve, resolved
from headrace.language import fill
from headrace.language.dialect import Headrace
from headrace.plan.trial import tried

__all__ = ["LOG", "Trial", "application_in", "leave_mistake", "mistake_in", "trial_of"]

NAME = "trial"
FILE, LEFT = f"{NAME}.sql", f"{NAME}.json"
LOG, MISTAKE = "said.log", "mistake.json"
LAST_WORDS = 500
"""So many characters of what was said tell what a trial died of that could not say so itself."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A text that can be tried, with its variables filled in; paths in it are relative to ``directory``."""

    text: str = field(repr=False)
    directory: Path
    imports: tuple[Import, ...]
    columns: tuple[tuple[str, str], ...]
    """The names and types of what its last query gives."""

    def write(self, folder: Path) -> None:
        """Leave it in a folder, which nobody else may read: values of variables may be passwords."""
        imports = [each.as_dict() for each in self.imports]
        told = {"text": self.text, "directory": str(self.directory), "imports": imports}
        (folder / LEFT).write_text(json.dumps(told), "utf-8")


def trial_of(text: str, directory: Path, resolve: Resolve, variables: Mapping[str, str] | None = None) -> Trial:
    """Return what is run to try a text; raise HeadraceError if it has mistakes or no query."""
    values = dict(variables or {})
    source = fill(text, FILE, ChainMap(values, dict(os.environ)))
    imports = resolved(text, NAME, values, resolve)
    [output] = _application(source.text, directory, imports).plan.outputs
    columns = tuple((each.name, each.type.sql(dialect=Headrace)) for each in output.relation.fields)
    return Trial(source.text, directory, imports, columns)


def application_in(folder: Path) -> Application:
    """Return the trial that was left in a folder, as an application that keeps all it keeps there."""
    told = json.loads((folder / LEFT).read_text("utf-8"))
    imports = map(Import.from_dict, told["imports"])
    return _application(told["text"], Path(told["directory"]), imports, str(folder / "state"))


def leave_mistake(folder: Path, error: HeadraceError) -> None:
    """Leave what went wrong in the folder of a trial, whole or not at all."""
    write_whole(folder / MISTAKE, json.dumps([error.message, error.detail, error.hint]), durable=False)


def mistake_in(folder: Path) -> HeadraceError:
    """Return what went wrong with the trial in a folder; if it could not say so, the last that was said there."""
    try:
        message, detail, hint = json.loads((folder / MISTAKE).read_text("utf-8"))
    except FileNotFoundError:
        said = (folder / LOG).read_text("utf-8", "replace").strip() if (folder / LOG).exists() else ""
        last = said[-LAST_WORDS:].partition("\n")[2] or said[-LAST_WORDS:]
        return HeadraceError(
            "the query failed", detail=f"Its last words: {value_without_secrets(last)}" if last else None
        )
    return HeadraceError(message, detail=detail, hint=hint)


def _application(text: str, directory: Path, imports: Iterable[Import], state: str | None = None) -> Application:
    made = Application(directory=directory, state=state, name=NAME, tried=True).reading(imports)
    made.add(Source(FILE, text))
    made.plan = tried(made.plan)
    return made
