"""What a job has and others may read: its statement goes in, what they read under the name ``JOB.NAME`` comes out."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from sqlglot import exp

from headrace.catalog.build import stream_of, table_of
from headrace.catalog.objects import Stream, Table
from headrace.catalog.view_options import ViewOptions
from headrace.connectors.kafka.options import KafkaSource
from headrace.connectors.registry import TableOptions
from headrace.errors import Source, Span
from headrace.language import parse
from headrace.language.statements import ColumnDefinition, CreateStream, CreateTable, Name

__all__ = ["VIEW", "Import", "ImportKind", "OtherView", "imported"]

VIEW = "view"
"""The connector of a table that is another job's view; nobody can write it in a WITH clause."""

ImportKind = Literal["stream", "table", "sink", "view"]

_FILES = ("path", "ssl_ca", "ssl_certificate", "sasl_password_file", "avro_schema")
"""Options that are paths, relative to the application that they are written in."""


@dataclass(frozen=True, slots=True)
class OtherView:
    """Where another job keeps a view; a path is absolute by now."""

    view: str
    kept: ViewOptions


@dataclass(frozen=True, slots=True)
class Import:
    """What one job reads of another, as it was when the reader's version was made.

    A stream, a table or a sink is a statement, whose paths are relative to ``directory``. A view is where it is kept.
    """

    job: str
    relation: str
    kind: ImportKind
    version: int
    """The version of the other job that was asked."""
    columns: tuple[tuple[str, str], ...]
    """Names and types; a type that only Spark knows is empty."""
    key: tuple[str, ...] = ()
    statement: str = field(default="", repr=False)
    directory: str = ""
    place: Mapping[str, str | None] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name that a query reads it by."""
        return f"{self.job}.{self.relation}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Import":
        """Return what `as_dict` wrote.

        >>> alerts = Import("fraud", "alerts", "view", 1, (("card", "BIGINT"),), ("card",), place={"store": "sqlite"})
        >>> Import.from_dict(alerts.as_dict()) == alerts
        True
        """
        columns = tuple((name, kind) for name, kind in plain["columns"])
        return cls(**{**plain, "columns": columns, "key": tuple(plain["key"])})


def imported(what: Import) -> tuple[Stream | Table, Source]:
    """Return the stream or table that an import stands for, under its whole name, and the text it is written in."""
    source = Source(what.name, what.statement)
    if what.kind == "view":
        return _view(what, source), source
    [statement] = parse(source)
    if not isinstance(statement, (CreateStream, CreateTable)):
        raise TypeError(f"{what.name} is no stream and no table")
    named = replace(statement, name=Name(what.name, statement.name.span))
    found = stream_of(named) if isinstance(named, CreateStream) else table_of(named)
    return replace(found, options=_anchored(found.options, what.directory)), source


def _view(what: Import, source: Source) -> Table:
    span = Span(source, 0, 0)
    columns = tuple(
        ColumnDefinition(name, exp.DataType.build(kind or "unknown", dialect="spark"), True, None, span)
        for name, kind in what.columns
    )
    kept = ViewOptions(**{name: value for name, value in what.place.items() if value is not None})  # type: ignore[arg-type]
    common = TableOptions(connector=VIEW)
    return Table(what.name, columns, what.key, VIEW, OtherView(what.relation, kept), span, common)


def _anchored(options: Any, directory: str) -> Any:
    """Return options whose paths mean the same wherever they are read; a group of consumers is its owner's alone."""
    known = {each.name for each in fields(options)}
    changed: dict[str, Any] = {}
    for name in known.intersection(_FILES):
        value = getattr(options, name)
        if isinstance(value, str) and "://" not in value:
            changed[name] = str(Path(directory) / value)
    if isinstance(options, KafkaSource):
        changed["group"] = None
    return replace(options, **changed)
