"""One Spark session and one Kafka for all tests of a process."""

from collections.abc import Iterator

import pytest

from headrace.broker.server import Broker


@pytest.fixture(scope="session")
def engine() -> Iterator[object]:
    from headrace.testing.spark_driver import SparkEngine

    yield SparkEngine()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running Kafka with nothing in it but what tests put there; each names its own topics."""
    broker = Broker(tmp_path_factory.mktemp("broker"))
    broker.start()
    yield broker
    broker.stop()
