"""Requests and answers about texts: what is wrong with them, what they would do, how they are kept."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.server.rest.models.fields import APPLICATION, Directory, Name, Sql, Variables, Wish, example
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

_MISTAKE = {
    "line": 2,
    "column": 43,
    "length": 3,
    "message": 'unknown column "crd"',
    "detail": None,
    "hint": 'Did you mean "card"?',
    "severity": "error",
}
_TOPOLOGY = {
    "nodes": [
        {
            "id": "n1",
            "role": "source",
            "name": None,
            "title": "read stream payments",
            "details": ["from kafka topic payments (json)"],
            "state": None,
            "rows": "append",
            "warnings": [],
        }
    ],
    "edges": [],
    "warnings": [],
}


class Text(Wish):
    """The text of an application, to be looked at."""

    model_config = example(text=APPLICATION, name="fraud")

    text: Sql
    name: Name | None = Field(None, description="The application that it is, as it would be submitted.")
    directory: Directory = None
    variables: Variables = Field(default_factory=dict)


class Trial(Text):
    """A text to be tried for a while."""

    model_config = example(text=APPLICATION, name="fraud", seconds=10)

    seconds: int = Field(SECONDS, ge=1, le=SECONDS)


class Diagnostic(BaseModel):
    """A mistake or a warning at a place in the text; line and column count from 1."""

    model_config = example(**_MISTAKE)

    line: int
    column: int
    length: int
    message: str
    detail: str | None
    hint: str | None
    severity: Literal["error", "warning"]


class Checked(BaseModel):
    """Whether a text is right, and what is wrong with it or to be aware of."""

    model_config = example(ok=False, diagnostics=[_MISTAKE])

    ok: bool
    diagnostics: list[Diagnostic]


class Topology(BaseModel):
    """The steps of an application as a graph; with figures while it runs."""

    model_config = example(**_TOPOLOGY)

    nodes: list[dict[str, Any]]
    edges: list[dict[str, str]]
    warnings: list[str]


class Explained(BaseModel):
    """What an application would do: in words, as a graph, and as pictures of it."""

    model_config = example(text="materialized view alerts…", topology=_TOPOLOGY, mermaid="flowchart LR…", svg="<svg…")

    text: str
    topology: Topology
    mermaid: str
    svg: str


class ApplicationWish(Wish):
    """A text to be kept; with ``expected``, only if that version is still the newest (0: there is none)."""

    model_config = example(text=APPLICATION, expected=1)

    text: Sql
    expected: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None


class Application(BaseModel):
    """An application that the server keeps."""

    model_config = example(name="fraud", version=2, changed_at="2024-05-01T10:00:00Z", changed_by="ann")

    name: str
    version: int
    changed_at: datetime
    changed_by: str


class ApplicationVersion(BaseModel):
    """One text of an application."""

    model_config = example(
        name="fraud", number=2, text=APPLICATION, created_at="2024-05-01T10:00:00Z", created_by="ann"
    )

    name: str
    number: int
    text: str
    created_at: datetime
    created_by: str


class Dashboard(BaseModel):
    """The dashboard of an application, as YAML; ``as_file`` if it is as in the file that it was taken of."""

    model_config = example(
        name="fraud",
        text="title: Fraud\npanels: []\n",
        changed_at="2024-05-01T10:00:00Z",
        changed_by="ann",
        as_file=True,
    )

    name: str
    text: str
    changed_at: datetime
    changed_by: str
    as_file: bool


class DashboardWish(Wish):
    """A dashboard, as YAML; with ``over_edited`` false, one that was edited since it was taken of a file stays."""

    model_config = example(text="title: Fraud\npanels: []\n", from_file=True, over_edited=False)

    text: Annotated[str, Field(max_length=200_000, pattern=r"^[^\x00]*$", examples=["title: Sales\npanels: []\n"])]
    from_file: bool = False
    over_edited: bool = True
