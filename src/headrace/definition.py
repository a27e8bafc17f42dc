"""Statements and what a Python program adds to them go in; an application that can be asked what it is comes out."""

import atexit
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sqlglot import exp

from headrace.catalog.imports import Import
from headrace.catalog.objects import Function
from headrace.catalog.python_functions import check as check_function
from headrace.errors import HeadraceError, PlanError, Source, Span, shallow
from headrace.language import fill, parse
from headrace.language.statements import ColumnDefinition
from headrace.plan.application import Output, Plan, define_import, define_relation, plan_application
from headrace.plan.beginning import FILE as BEGINNING
from headrace.plan.beginning import Beginning
from headrace.plan.explain import explain_relation
from headrace.plan.real_time import delivery
from headrace.plan.steps import Field, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Definition"]


@dataclass(slots=True)
class Definition:
    """What an application is, and where it keeps its state; nothing of it runs."""

    directory: Path = field(default_factory=Path.cwd)
    state: str | None = None
    master: str | None = None
    name: str = "application"
    plan: Plan = field(default_factory=Plan)
    fed: bool = False
    durable: bool = False
    beside: bool = False
    """Whether it runs beside itself, to be built anew: then nobody finds its views by name."""
    tried: bool = False
    """Whether it only shows what a query gives: then Kafka is not told how far it has read."""
    file: Path | None = None
    _frames: dict[str, "DataFrame"] = field(default_factory=dict, repr=False)
    _callables: dict[str, tuple[Callable[..., Any], str]] = field(default_factory=dict, repr=False)
    _temporary: str | None = field(default=None, repr=False)

    @classmethod
    def load(cls, path: str | Path, variables: Mapping[str, str] | None = None, **options: Any) -> Self:
        """Return the application of a file; ``${NAME}`` is filled from the variables."""
        file = Path(path)
        try:
            text = file.read_text("utf-8")
        except OSError as error:
            raise HeadraceError(f'file "{path}" cannot be read', detail=f"{error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise HeadraceError(f'file "{path}" is not UTF-8 text', detail=f"{error}.") from error
        folder = file.resolve().parent
        name = folder.name if file.stem == "application" and folder.name else file.stem
        application = cls(directory=folder, name=name, durable=True, file=file.resolve(), **options)
        return application.add(fill(text, str(path), variables or {}))

    def reading(self, imports: Iterable[Import]) -> Self:
        """Let statements that are added read what other jobs have, as ``JOB.NAME``."""
        for each in imports:
            define_import(self.plan, each)
        return self

    def sql(self, text: str) -> Self:
        """Add statements."""
        return self.add(Source("sql", text))

    def add(self, source: Source) -> Self:
        """Add the statements of a source; functions are looked for beside the application."""
        before = set(self.plan.functions)
        plan_application(parse(source), source, self.plan)
        for name in self.plan.functions.keys() - before:
            check_function(self.plan.functions[name], self.directory)
        return self

    def function(self, name: str, function: Callable[..., Any], returns: str, parameters: Sequence[str]) -> Self:
        """Add a Python function under a name, with the SQL types that it takes and gives."""
        span = Span(Source(name, name), 0, len(name))
        columns = tuple(
            ColumnDefinition(f"argument_{i}", exp.DataType.build(kind, dialect="spark"), True, None, span)
            for i, kind in enumerate(parameters)
        )
        kind = exp.DataType.build(returns, dialect="spark")
        self.plan.functions[name.lower()] = Function(name, columns, kind, "", "", span)
        self._callables[name.lower()] = (function, returns)
        return self

    def observe(self, name: str, query: str) -> Self:
        """Measure the rows of a stream in each batch: aggregates under names, as in the statement OBSERVE."""
        return self.sql(f"OBSERVE `{name}` AS {query}")

    def define(self, name: str, frame: "DataFrame", time: str | None = None) -> Self:
        """Add a relation from a Spark DataFrame; ``time`` names its column under a watermark, if any."""
        fields = tuple(
            Field(each.name, exp.DataType.build(each.dataType.simpleString(), dialect="spark"))
            for each in frame.schema.fields
        )
        if time is not None and time not in frame.columns:
            raise PlanError(f'relation "{name}" has no column "{time}"')
        kind = Kind.APPEND if frame.isStreaming else Kind.STATIC
        define_relation(self.plan, name, fields, kind, frozenset({time} if time else ()))
        self._frames[name.lower()] = frame
        return self

    def explain(self, name: str | None = None) -> str:
        """Return the plan of a relation, or of every output, as text."""
        if name is not None:
            return explain_relation(self.plan.relation(name))
        with shallow():
            return self._explained()

    def _explained(self) -> str:
        return "\n\n".join(
            f"{output.role} {output.name}\n{self._delivery(output)}{explain_relation(output.relation)}"
            for output in self.plan.outputs
        )

    def _delivery(self, output: Output) -> str:
        text = delivery(output, self.plan.settings)
        return "" if text is None else f"{text}\n"

    def beginning(self) -> Beginning | None:
        """Return where streams begin, if the state says so."""
        state = self.state_folder()
        if "://" in state and not state.startswith("file://"):
            return None
        file = Path(state.removeprefix("file://")) / BEGINNING
        return Beginning.from_text(file.read_text("utf-8")) if file.is_file() else None

    def state_folder(self) -> str:
        """Return the folder or URL of this application's own checkpoints and views.

        It is named after the application, so that several can share what ``state`` or SET names.
        """
        root = self.state
        if root is None and self.plan.settings.state is not None:
            root = self.plan.settings.state
            root = root if "://" in root else str(self.directory / root)
        if root is None:
            root = str(self.directory / ".headrace") if self.durable else self._temporary_folder()
        return f"{root.rstrip('/')}/{self.name}"

    def _temporary_folder(self) -> str:
        if self._temporary is None:
            self._temporary = tempfile.mkdtemp(prefix="headrace-")
            atexit.register(shutil.rmtree, self._temporary, ignore_errors=True)
        return self._temporary

    def _scratch(self) -> str:
        """Return a new folder for a run that ends; no other run, earlier or at the same time, has it."""
        named = self.state is not None or self.plan.settings.state is not None
        root = self.state_folder() if named else self._temporary_folder()
        return f"{root}/once-{secrets.token_hex(4)}"
