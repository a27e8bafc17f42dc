from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace.views.sqlite import SqliteViewStore


class Clock:
    """A time that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2024, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Callable[[], datetime]) -> Iterator[SqliteViewStore]:
    store = SqliteViewStore(tmp_path / "views.sqlite", clock=clock)
    yield store
    store.close()
