"""One Spark session, one Kafka and one PostgreSQL for all tests of a process."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle, repeat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from headrace.broker.server import Broker
from headrace.errors import HeadraceError
from headrace.jars.fetch import jars
from headrace.spark.session import QUICK
from headrace.testing.files import read_file
from headrace.testing.runner import MODES, CaseResult, run_case
from support.databases import PostgresServer, postgres_server
from support.homes import new_home
from support.registry_server import SchemaRegistry, open_schema_registry

_home: list[Path] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also what takes minutes, and every case in every way")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked as long, unless it is asked for."""
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_configure() -> None:
    """Let every process of the tests note its views in a home of its own, apart from each other and from the user's."""
    _home.append(Path(tempfile.mkdtemp(prefix="headrace-tests-")))
    os.environ["HEADRACE_HOME"] = str(new_home(_home[0]))
    os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK)  # for every command that a test starts
    # A busy machine is no failure, and the same code passes or fails each time: the long forms draw by other seeds.
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    settings.register_profile("headrace", deadline=None, derandomize=True, suppress_health_check=slow)
    settings.load_profile("headrace")


def pytest_unconfigure() -> None:
    shutil.rmtree(_home.pop(), ignore_errors=True)


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
def run_cases(engine: object, request: pytest.FixtureRequest) -> Callable[[Path], list[CaseResult]]:
    """Run the cases of a file: resumed and straight in turn, and with ``--long`` each of them both ways."""
    long = request.config.getoption("--long")

    def run(path: Path) -> list[CaseResult]:
        file = read_file(path)
        ways = repeat(MODES) if long else cycle([("resumed",), ("straight",)])
        return [run_case(file.source.name, case, engine, modes=next(ways))[0] for case in file.cases]

    return run


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


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL; each test makes its own database in it."""
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The url of a new, empty database for a server: the test runs once on each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'headrace.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database().replace("postgresql://", "postgresql+psycopg://")
