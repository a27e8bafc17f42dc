"""A yard for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.records.database import Database
from support.job_yard import Yard


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    made = Yard(tmp_path, Database.open(f"sqlite:///{tmp_path / 'server.sqlite'}"))
    yield made
    made.end()
