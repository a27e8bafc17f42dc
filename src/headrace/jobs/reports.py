"""What went wrong in a driver: an error goes in, words that outlive the process come out."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from headrace.errors import HeadraceError

__all__ = ["Cause", "Report", "internal", "report_of"]


class Cause(StrEnum):
    """Whose fault a failure is, which says whether starting again can help."""

    USER = "user"
    """A mistake in the application: it would fail in the same way again."""
    SURROUNDINGS = "surroundings"
    """Something outside does not answer: it is tried again for as long as it takes."""
    FAILURE = "failure"
    """Anything else: it is tried again a few times."""


@dataclass(frozen=True, slots=True)
class Report:
    """An error in three parts, and its place in the application; as it is kept, sent and shown."""

    message: str
    detail: str | None = None
    hint: str | None = None
    place: dict[str, Any] | None = None

    def text(self) -> str:
        """Return the error as people read it.

        >>> print(Report("no room", hint="Make some.", place={"file": "a.sql", "line": 3, "column": 1}).text())
        error: no room
          a.sql:3:1
        hint: Make some.
        """
        lines = [f"error: {self.message}"]
        if self.place:
            lines.append(f"  {self.place.get('file')}:{self.place.get('line')}:{self.place.get('column')}")
        lines += [f"detail: {self.detail}"] if self.detail else []
        lines += [f"hint: {self.hint}"] if self.hint else []
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> Self | None:
        """Return the report that plain values stand for, None if they are none."""
        if not isinstance(values, dict) or not isinstance(values.get("message"), str):
            return None
        place = values.get("place")
        return cls(values["message"], values.get("detail"), values.get("hint"), place if place else None)


def report_of(error: HeadraceError) -> Report:
    """Return the report of a user's mistake or of a failure that is known."""
    return Report(**error.as_dict())


def internal(error: BaseException) -> Report:
    """Return the report of a bug; its traceback belongs into the log."""
    first = (str(error).strip().splitlines() or ["no message"])[0][:200]
    return Report(
        f"internal error, please report it: {type(error).__name__}: {first}", detail="The traceback is in the log."
    )
