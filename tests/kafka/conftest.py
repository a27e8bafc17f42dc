"""Applications over a real broker, in the Spark session that all tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace import Application
from headrace.broker.server import Broker


@pytest.fixture(autouse=True)
def _session(engine):
    from headrace.plan.settings import Settings
    from headrace.spark.session import open_session

    open_session(Settings(), master="local[2]", kafka=True)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the brokers of a busy machine more time to answer than a user would."""
    monkeypatch.setattr("headrace.spark.kafka.PATIENCE", 120)


@pytest.fixture
def servers(broker: Broker) -> str:
    return broker.start()


@pytest.fixture
def application(tmp_path: Path, servers: str) -> Callable[[str], Application]:
    """Return an application whose statements say KAFKA for the connector and its broker."""

    def make(text: str) -> Application:
        kafka = f"connector = 'kafka', bootstrap_servers = '{servers}'"
        (tmp_path / "app.sql").write_text(text.replace("KAFKA", kafka))
        return Application.load(tmp_path / "app.sql")

    return make
