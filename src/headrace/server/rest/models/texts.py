"""Requests and answers about texts: what is wrong with them, what they would do, how they are kept."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.server.rest.models.fields import Directory, Name, Sql, Variables, Wish
from headrace.server.services.trying import SECONDS

__all__ = [
    "Application",
    "ApplicationVersion",
    "ApplicationWish",
    "Checked",
    "Dashboard",
    "DashboardWish",
    "Diagnostic",
    "Explained",
    "Text",
    "Topology",
]


class Text(Wish):
    """The text of an application, to be looked at."""

    text: Sql
    name: Name = "application"
    directory: Directory = None
    variables: Variables = Field(default_factory=dict)


class Trial(Wish):
    """A text to be tried for a while; paths in it are absolute."""

    text: Sql
    variables: Variables = Field(default_factory=dict)
    seconds: int = Field(SECONDS, ge=1, le=SECONDS)


class Diagnostic(BaseModel):
    """A mistake or a warning at a place in the text; line and column count from 1."""

    line: int
    column: int
    length: int
    message: str
    detail: str | None
    hint: str | None
    severity: Literal["error", "warning"]


class Checked(BaseModel):
    """Whether a text is right, and what is wrong with it or to be aware of."""

    ok: bool
    diagnostics: list[Diagnostic]


class Topology(BaseModel):
    """The steps of an application as a graph; with figures while it runs."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, str]]
    warnings: list[str]


class Explained(BaseModel):
    """What an application would do: in words, as a graph, and as pictures of it."""

    text: str
    topology: Topology
    mermaid: str
    svg: str


class ApplicationWish(Wish):
    """A text to be kept; with ``expected``, only if that version is still the newest (0: there is none)."""

    text: Sql
    expected: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None


class Application(BaseModel):
    """An application that the server keeps."""

    name: str
    version: int
    changed_at: datetime
    changed_by: str


class ApplicationVersion(BaseModel):
    """One text of an application."""

    name: str
    number: int
    text: str
    created_at: datetime
    created_by: str


class Dashboard(BaseModel):
    """The dashboard of an application, as YAML; ``as_file`` if it is as in the file that it was taken of."""

    name: str
    text: str
    changed_at: datetime
    changed_by: str
    as_file: bool


class DashboardWish(Wish):
    """A dashboard, as YAML; with ``over_edited`` false, one that was edited since it was taken of a file stays."""

    text: Annotated[str, Field(max_length=200_000, pattern=r"^[^\x00]*$", examples=["title: Sales\npanels: []\n"])]
    from_file: bool = False
    over_edited: bool = True
