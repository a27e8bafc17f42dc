"""A text goes in; what is run to try it comes out, and goes to the process that runs it through a folder."""

import json
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.errors import Source
from headrace.jobs.offers import Resolve, resolved
from headrace.language import fill
from headrace.language.dialect import Headrace
from headrace.plan.trial import tried

__all__ = ["Trial", "application_in", "trial_of"]

NAME = "trial"
FILE, LEFT = f"{NAME}.sql", f"{NAME}.json"


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


def _application(text: str, directory: Path, imports: Iterable[Import], state: str | None = None) -> Application:
    made = Application(directory=directory, state=state, name=NAME, tried=True).reading(imports)
    made.add(Source(FILE, text))
    made.plan = tried(made.plan)
    return made
