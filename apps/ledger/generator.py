"""Writes commands of a few accounts into a topic of Kafka, and decides them; some ask for more than there is."""

import argparse
import json
import os
import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

OWNERS = ("ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana")
CURRENCIES = ("EUR", "USD")
TOPICS = ("ledger-commands", "ledger-events", "ledger-rejections")
COMPACTED = {"cleanup.policy": "compact"}
KEPT = {"retention.ms": str(7 * 24 * 60 * 60 * 1000)}
"""Commands are kept for a week: whoever is forgotten is in them no longer than that."""


def commands(seed: int, rate: int, start: datetime) -> Iterator[list[dict[str, Any]]]:
    """Yield the commands of one second after the other; the same seed and start give the same."""
    chance = random.Random(seed)
    accounts = {f"A{number:03d}": CURRENCIES[number % 2] for number in range(1, len(OWNERS) + 1)}
    opening = list(zip(accounts, OWNERS, strict=True))
    for second in range(10**9):
        batch = []
        for number in range(rate):
            command: dict[str, Any] = {"command_id": f"{chance.getrandbits(64):016x}"}
            if opening:
                account, owner = opening.pop(0)
                command |= {"account": account, "kind": "open", "owner": owner, "currency": accounts[account]}
            else:
                account = chance.choice(list(accounts))
                kind = chance.choices(("deposit", "withdraw", "transfer"), (5, 3, 3))[0]
                command |= {"account": account, "kind": kind, "amount": chance.randrange(100, 20_000) / 100}
                if kind == "transfer":
                    command["target"] = chance.choice([other for other in accounts if other != account])
            at = start + timedelta(seconds=second + number / rate)
            batch.append({**command, "at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z")})
        yield batch


def create(servers: str, topic: str, **options: str) -> None:
    """Make a topic of one partition unless it is there."""
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    try:
        client.create_topics([NewTopic(topic, 1, 1, config=options)])[topic].result(30)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def write(producer: Producer, topic: str, batch: list[dict[str, Any]]) -> None:
    """Write commands under their account as the key, and return when the broker has them."""
    for command in batch:
        producer.produce(topic, key=command["account"], value=json.dumps(command))
    if producer.flush(30):
        raise SystemExit("the broker does not take messages")


def decide_beside(servers: str, suffix: str) -> None:
    """Decide commands in a thread, as ``headrace handle`` does."""
    import commands as functions  # the module that stands beside

    from headrace import Application
    from headrace.events import CommandHandler

    os.environ["HEADRACE_BOOTSTRAP_SERVERS"] = servers
    names = {topic.upper().replace("-", "_"): topic + suffix for topic in TOPICS}
    application = Application.load(Path(__file__).parent / "application.sql", names)
    handler = CommandHandler(application, view="balances", decide=functions.decide, evolve=functions.evolve)
    threading.Thread(target=handler.run, name="handler", daemon=True).start()


def main() -> None:
    """Read the arguments, make the topics and write commands each second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True, help="a broker of Kafka as host:port")
    parser.add_argument("--suffix", default="", help="what the names of topics end with (default nothing)")
    parser.add_argument("--out", help="not used: commands go to Kafka")
    parser.add_argument("--port", help="not used: commands go to Kafka")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=10, help="commands per second (default 10)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same commands")
    parser.add_argument("--start", type=datetime.fromisoformat, help="time of the first command (default now)")
    parser.add_argument("--undecided", action="store_true", help="leave deciding to headrace handle")
    given = parser.parse_args()
    for topic in TOPICS:
        create(given.bootstrap, topic + given.suffix, **(KEPT if topic == TOPICS[0] else COMPACTED))
    if not given.undecided:
        decide_beside(given.bootstrap, given.suffix)
    producer = Producer({"bootstrap.servers": given.bootstrap, "enable.idempotence": True, "log_level": 0})
    start = given.start or datetime.now(UTC)
    began = time.monotonic()
    for second, batch in zip(range(given.seconds), commands(given.seed, given.rate, start), strict=False):
        time.sleep(max(0.0, began + second - time.monotonic()))
        write(producer, TOPICS[0] + given.suffix, batch)


if __name__ == "__main__":
    main()
