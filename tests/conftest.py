"""One Spark session and one Kafka for all tests of a process."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from headrace.broker.server import Broker
from headrace.errors import HeadraceError
from headrace.jars.fetch import jars
from support.registry_server import SchemaRegistry, open_schema_registry


@pytest.fixture(scope="session", autouse=True)
def _kafka_jars() -> None:
    """Have the jars before the first Spark session starts: it can load none later.

    Where they cannot be fetched, the tests that need them say so; the others go on.
    """
    with suppress(HeadraceError):
        jars("kafka")


@pytest.fixture
def schema_registry() -> Iterator[SchemaRegistry]:
    """Give a running schema registry: its ``url``, and ``register(subject, schema)``."""
    with open_schema_registry() as registry:
        yield registry


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
