"""The ledger over a real broker: topics of its own, and what tests send and find there."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from headrace import Application
from headrace.broker.server import Broker
from headrace.events import CommandHandler
from headrace.events.module import load_functions
from support import topics
from support.waiting import PATIENCE, until

APP = Path(__file__).parents[2] / "apps" / "ledger"
decide, evolve = load_functions("commands", APP)


@dataclass
class Ledger:
    """An application with topics of its own, and its state in a folder of the test."""

    servers: str
    folder: Path
    names: Mapping[str, str]
    sent: int = 0
    failures: list[BaseException] = field(default_factory=list)

    @property
    def application(self) -> Application:
        return Application.load(APP / "application.sql", self.names, state=str(self.folder / "state"))

    @property
    def variables(self) -> list[str]:
        return [part for name, value in self.names.items() for part in ("--var", f"{name}={value}")]

    def topic(self, which: str) -> str:
        return self.names[f"LEDGER_{which.upper()}"]

    def command(self, kind: str, account: str, amount: object = None, **more: Any) -> dict[str, Any]:
        self.sent += 1
        given = {"command_id": f"c{self.sent}", "account": account, "kind": kind, "amount": amount, **more}
        return {"at": "2024-01-01T10:00:00Z", **{name: value for name, value in given.items() if value is not None}}

    def opened(self, account: str, balance: object = None, owner: str = "ada") -> list[dict[str, Any]]:
        commands = [self.command("open", account, owner=owner, currency="EUR")]
        return commands + ([self.command("deposit", account, balance)] if balance is not None else [])

    def send(self, *commands: dict[str, Any] | bytes) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True})
        for each in commands:
            raw = isinstance(each, bytes)
            producer.produce(
                self.topic("commands"), key=None if raw else each["account"], value=each if raw else json.dumps(each)
            )
        assert producer.flush(PATIENCE) == 0

    def handler(self, **options: Any) -> CommandHandler:
        return CommandHandler(self.application, **{"view": "balances", "decide": decide, "evolve": evolve, **options})

    def handle(self, **options: Any) -> CommandHandler:
        """Decide what is there."""
        handler = self.handler(**options)
        handler.run(once=True)
        return handler

    @contextmanager
    def handling(self, handler: CommandHandler) -> Iterator[threading.Event]:
        """Decide commands in a thread; what it dies of is in failures."""
        stopping = threading.Event()

        def run() -> None:
            try:
                handler.run(stopping)
            except BaseException as error:
                self.failures.append(error)
            finally:
                stopping.set()

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield stopping
        finally:
            stopping.set()
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def events(self) -> list[dict[str, Any]]:
        """The committed events that are there, with the last message of each key."""
        last = {m.key(): m.value() for m in topics.read(self.servers, self.topic("events"))}
        return [json.loads(value, parse_float=Decimal) for value in last.values() if value is not None]

    def rejections(self) -> list[dict[str, Any]]:
        return topics.rows(self.servers, self.topic("rejections"))

    def await_balance(self, account: str, balance: object, seconds: float = PATIENCE) -> None:
        def reached() -> bool:
            assert not self.failures, self.failures
            return self.balances().get(account) == balance

        until(reached, seconds)

    def balances(self) -> dict[str, Decimal]:
        found: dict[str, Decimal] = {}
        for event in self.events():
            found[event["account"]] = found.get(event["account"], Decimal(0)) + event["amount"]
        return found


@pytest.fixture
def make_ledger(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ledger]:
    servers = broker.start()
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", servers)

    def make(partitions: int = 1, **config: str) -> Ledger:
        names = {}
        for which in ("commands", "events", "rejections"):
            policy = {} if which == "commands" else {"cleanup.policy": "compact", **config}
            names[f"LEDGER_{which.upper()}"] = topics.new_topic(servers, which, partitions, **policy)
        return Ledger(servers, tmp_path / uuid.uuid4().hex[:6], names)

    return make


@pytest.fixture
def ledger(make_ledger: Callable[..., Ledger]) -> Ledger:
    return make_ledger()
