"""Requests and answers about rules of alerts."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from headrace.server.rest.models.fields import Wish, example

__all__ = ["AlertRule", "AlertRuleWish"]

Kind = Literal["lag", "watermark-stuck", "batch-stuck", "dead-rows", "crash-loop", "state-growth"]
Duration = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[ -~]+$", examples=["5 minutes"])]
Count = Annotated[int, Field(ge=0, le=2**53 - 1)]


class AlertRuleWish(Wish):
    """A rule; each kind has options of its own, and what is not given is as usual."""

    model_config = example(kind="lag", job="fraud", messages=1000, lasting="1 minute")

    kind: Kind
    job: Annotated[
        str, Field(min_length=1, max_length=100, pattern=r"^[!-~]+$", description="A job, or a pattern with * and ?.")
    ] = "*"
    lasting: Duration | None = Field(None, description="How long it must hold before anybody is told.")
    within: Duration | None = Field(None, description="Dead rows, crash loop, state growth: how far to look back.")
    messages: Count | None = Field(None, description="Lag: more messages than this are still to be read.")
    more_than: Count | None = Field(None, description="Dead rows: how many are borne.")
    restarts: Count | None = Field(None, description="Crash loop: how many restarts are too many.")
    factor: Annotated[float, Field(ge=1, le=1e6)] | None = Field(None, description="State growth: by what factor.")
    least: Count | None = Field(None, description="State growth: the least size in bytes.")

    def options(self) -> dict[str, Any]:
        """Return what is given."""
        return {name: value for name, value in self.model_dump().items() if value is not None}


class AlertRule(BaseModel):
    """A rule, and where it comes from: only those of the server can be changed here."""

    model_config = example(
        name="far behind",
        kind="lag",
        job="fraud",
        options={"messages": 1000, "lasting": "1 minute"},
        origin="server",
        changed_at="2024-05-01T10:00:00Z",
        changed_by="ann",
    )

    name: str
    kind: Kind
    job: str
    options: dict[str, Any]
    origin: Literal["standard", "file", "server"]
    changed_at: datetime | None
    changed_by: str | None
