"""What a test case asks of the system that runs it; the Spark side fulfils it, and so does a toy in tests."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from headrace.errors import Source

__all__ = ["START_AT", "Driver", "Engine"]

START_AT = datetime(2024, 1, 1, tzinfo=UTC)  # the clock of a case that never sets it


class Driver(Protocol):
    """One running application, fed and watched by one case. A mistake of the user raises HeadraceError.

    Each call returns only when what it asked for is done: nothing is awaited by time.
    """

    def ingest(self, batch: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Process one micro-batch: pairs of a stream's name and raw lines, which may not be valid."""

    def set_clock(self, instant: datetime) -> None:
        """Set the processing clock, which never moves by itself and is never set back."""

    def drain(self) -> None:
        """End the input: every watermark passes, every window and match closes."""

    def crash(self) -> None:
        """Kill the application without warning and resume it from its checkpoint."""

    def stop_and_resume(self) -> None:
        """Stop the application between two batches and resume it from its checkpoint."""

    def rows(self, name: str) -> Sequence[dict[str, Any]]:
        """Return all rows of a relation so far, retractions applied, in any order."""

    def changes(self, name: str) -> Sequence[Sequence[dict[str, Any]]]:
        """Return the batches of changes since the last call for this relation, resumes notwithstanding.

        Each row has ``_change`` (``insert`` or ``delete``) as its last column; a batch may be empty.
        """

    def explain(self, name: str) -> str:
        """Return the text of a relation's plan."""

    def close(self) -> None:
        """Stop the application and delete its state."""


class Engine(Protocol):
    """Opens applications; many cases share one engine, one after the other."""

    def open(
        self,
        application: Source,
        *,
        directory: Path,
        relations: Sequence[str],
        clock_at: datetime,
        ingested: Sequence[str] = (),
    ) -> Driver:
        """Return a driver of the application, or raise HeadraceError if the application is wrong.

        Relative paths in the application start at ``directory``. ``relations`` are the names for which rows
        or changes will be asked, ``ingested`` those that will be fed. ``clock_at`` is where the processing clock
        stands at first.
        """
