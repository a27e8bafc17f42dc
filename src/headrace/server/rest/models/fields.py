"""The fields and forms that many requests and answers have in common."""

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from headrace.jobs.submission import NAME

__all__ = [
    "APPLICATION",
    "Cores",
    "Directory",
    "Megabytes",
    "Name",
    "Page",
    "PersonName",
    "Secret",
    "Sql",
    "Variables",
    "Wish",
    "example",
]

Item = TypeVar("Item")
APPLICATION = (
    "CREATE STREAM payments (card STRING, amount INT) WITH (connector = 'kafka', topic = 'payments');\n"
    "CREATE MATERIALIZED VIEW alerts AS SELECT card, sum(amount) AS total FROM payments GROUP BY card;"
)
"""The text that examples show."""
Sql = Annotated[str, Field(max_length=1_000_000, pattern=r"^[^\x00]*$", examples=[APPLICATION])]
Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$", max_length=100, examples=["fraud"])]
PersonName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9._@-]*$", examples=["ann"])]
Secret = Annotated[str, Field(min_length=1, max_length=1024, examples=["correct-kettle-marble"])]
Variables = Annotated[
    dict[Annotated[str, Field(max_length=200)], Annotated[str, Field(max_length=10_000)]],
    Field(max_length=200, description="Fills ${NAME}, before the server's environment.", examples=[{"REGION": "eu"}]),
]
Cores = Annotated[int, Field(ge=1, le=1024)]
Megabytes = Annotated[int, Field(ge=512, le=2**24, description="Megabytes.")]
Directory = Annotated[
    str | None,
    Field(
        pattern=r"^/[^\x00-\x1f]*$",
        max_length=1000,
        description="A folder of the server's machine that paths are relative to; one of the job's own without it.",
        examples=["/srv/fraud"],
    ),
]


def example(**fields: Any) -> ConfigDict:
    """Return the settings of a model that is shown by an example; those that it inherits stay."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Wish(BaseModel):
    """What a request holds: nothing that is not known."""

    model_config = ConfigDict(extra="forbid")


class Page(BaseModel, Generic[Item]):
    """Some items; ``next`` is the ``after`` of the page behind it, null on the last."""

    items: list[Item]
    next: str | None = Field(default=None, examples=["fraud"])
