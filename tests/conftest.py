"""One Spark session for all tests of a process."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def engine() -> Iterator[object]:
    from headrace.testing.spark_driver import SparkEngine

    yield SparkEngine()
