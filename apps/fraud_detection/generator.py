"""Writes card transactions into a topic of Kafka each second, with known cases of fraud among them."""

import argparse
import heapq
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

ACCOUNTS = Path(__file__).parent / "accounts" / "accounts.json"
SHOPS = (("FreshMarket", "Food"), ("CornerBooks", "Books"), ("ElectronicsStore", "Electronics"), ("CityFuel", "Fuel"))
MOST_DISORDER = 20
"""Seconds by which a transaction may be written after a later one; the application waits 30 for it."""
BETWEEN_CASES = 60
"""Seconds, of the transactions' time, from one planted case to the next."""
LONGEST_CASE = 1500
RUSH = 1800
"""Seconds, of the transactions' time, from one time when shops are full to the next."""
DEGREE = 6371 * math.pi / 180
"""Kilometres of a degree of latitude."""

Row = dict[str, object]
Case = dict[str, str]
Place = tuple[float, float]
Made = tuple[str, str]
"""The number of a transaction and its time."""


@dataclass(slots=True)
class Traffic:
    """Transactions on their way: each arrives a little after it was made, so they come out of order.

    A case has an account of its own, so that none is the cause of another. Those who buy abroad need a home: they are
    half of the accounts, and the others buy near theirs.
    """

    chance: random.Random
    start: datetime
    homes: list[Row]
    waiting: list[tuple[float, str, Row]] = field(default_factory=list)
    planted: list[Case] = field(default_factory=list)
    last: dict[str, tuple[float, Place]] = field(default_factory=dict)
    cases: int = 0

    def add(self, at: float, account: str, amount: float, place: Place, kind: str = "purchase") -> Made:
        """Let a transaction be made, so many seconds after the start, and return its number and time."""
        number, made_at = f"{self.chance.getrandbits(48):012x}", instant(self.start + timedelta(seconds=at))
        name, category = self.chance.choice(SHOPS)
        row: Row = {
            "transaction_id": number,
            "timestamp": made_at,
            "account_id": account,
            "transaction_type": kind,
            "amount": round(amount, 2),
            "currency": "USD",
            "merchant": {
                "name": name,
                "category": category,
                "location": {"latitude": round(place[0], 6), "longitude": round(place[1], 6)},
            },
        }
        heapq.heappush(self.waiting, (at + self.chance.uniform(0, MOST_DISORDER), number, row))
        return number, made_at

    def ordinary(self, at: float) -> None:
        """Let somebody buy near home for 20 to 80, or take out or get back an amount that no rule looks at."""
        home = self.chance.choice(self.homes[::2])
        account = str(home["account_id"])
        if self.chance.random() < 0.1:
            kind = self.chance.choice(("withdrawal", "refund"))
            self.add(at, account, self.chance.choice((0.5, 700)), (0.0, 0.0), kind)
            return
        before, place = self.last.get(account, (-math.inf, (0.0, 0.0)))
        if at - before > 120:  # time to go to another shop
            place = near(home, self.chance.uniform(0, 0.1))
        self.last[account] = (max(at, before), place)
        self.add(at, account, self.chance.uniform(20, 80), place)

    def case(self, at: float) -> None:
        """Plant a case of each rule in turn; after each, one that just misses the rule."""
        number, missed = divmod(self.cases, 2)
        rules = (self.small_then_large, self.impossible_travel, self.use_abroad, self.unusual_amount)
        rule = rules[number % len(rules)]
        found = rule(at, number, bool(missed))
        if not missed:
            self.planted.append({"rule": rule.__name__, "transaction_id": found[0], "timestamp": found[1]})
        self.cases += 1

    def small_then_large(self, at: float, number: int, missed: bool) -> Made:
        """Plant one below 1 and one above 500 within a minute, or one of four near misses."""
        account, place = f"S{number:05d}{'x' * missed}", near(self.homes[number % 48], 0.1)
        small, large, later = self.chance.uniform(0.01, 0.99), self.chance.uniform(500.01, 900), 59.999
        if missed:
            small, large, later = ((1.00, large, 30), (small, 500, 30), (small, large, 60), (small, large, 50))[
                number // 4 % 4
            ]
            if number // 4 % 4 == 3:  # another purchase stands between
                self.add(at + 20, account, 15, place)
        self.add(at, account, small, place)
        return self.add(at + later, account, large, place)

    def impossible_travel(self, at: float, number: int, missed: bool) -> Made:
        """Plant two purchases a few hundred kilometres apart, at 1,050 km/h or at 950."""
        account, home = f"T{number:05d}{'x' * missed}", self.homes[number % 48]
        degrees = self.chance.uniform(0.5, 3)
        hours = degrees * DEGREE / (950 if missed else 1050)
        self.add(at, account, 50, near(home, 0))
        return self.add(at + hours * 3600, account, 40, near(home, degrees))

    def use_abroad(self, at: float, number: int, missed: bool) -> Made:
        """Plant a purchase 505 to 1,000 kilometres from home, or 495."""
        travellers = self.homes[1::2]
        home = travellers[(number // 2 + missed) % len(travellers)]
        kilometres = 495 if missed else self.chance.uniform(505, 1000)
        return self.add(at, str(home["account_id"]), 60, near(home, kilometres / DEGREE))

    def unusual_amount(self, at: float, number: int, missed: bool) -> Made:
        """Plant five purchases and one above 5 times their mean; or exactly 5 times; or after four only."""
        account, place = f"U{number:05d}{'x' * missed}", near(self.homes[number % 48], 0.1)
        four_only = missed and number // 4 % 2 == 1
        amounts = [self.chance.randrange(2000, 8000) for _ in range(4 if four_only else 5)]
        for position, cents in enumerate(amounts):
            self.add(at + 100 * position, account, cents / 100, place)
        total = sum(amounts) / 100
        amount = 400 if four_only else total if missed else total + 0.01
        return self.add(at + 600, account, amount, place)


def transactions(
    seed: int, rate: int, start: datetime, speed: float, seconds: int
) -> Iterator[tuple[list[Row], list[Case]]]:
    """Yield the transactions of one second of the clock after the other, and the cases that were planted meanwhile.

    What begins too late to end in time is not planted.
    """
    homes = [json.loads(line) for line in ACCOUNTS.read_text("utf-8").splitlines()]
    traffic = Traffic(random.Random(seed), start, homes)
    next_case = 10.0
    for second in range(seconds):
        many = max(1, round(rate * (1 + 0.5 * math.sin(2 * math.pi * speed * second / RUSH))))
        for part in range(many):
            traffic.ordinary(speed * (second + part / many))
        while next_case < min(speed * (second + 1), speed * seconds - LONGEST_CASE):
            traffic.case(next_case)
            next_case += BETWEEN_CASES
        batch = []
        while traffic.waiting and (traffic.waiting[0][0] < speed * (second + 1) or second == seconds - 1):
            batch.append(heapq.heappop(traffic.waiting)[2])
        planted, traffic.planted = traffic.planted, []
        yield batch, planted


def near(home: Row, degrees: float) -> Place:
    """Return the place so many degrees from a home, towards the equator."""
    latitude, longitude = float(str(home["latitude"])), float(str(home["longitude"]))
    return latitude - math.copysign(degrees, latitude), longitude


def instant(at: datetime) -> str:
    """Return an instant as ISO 8601 has it, to the millisecond."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def create(servers: str, topic: str) -> None:
    """Make a topic of two partitions unless it is there."""
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    try:
        client.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def write(producer: Producer, topic: str, rows: list[Row]) -> None:
    """Write transactions under their account as the key, one when the broker has the one before.

    So no partition runs ahead of the other, and whoever reads sees no more disorder than was made.
    """
    for row in rows:
        producer.produce(topic, key=str(row["account_id"]), value=json.dumps(row))
        if producer.flush(30):
            raise SystemExit("the broker does not take messages")


def main() -> None:
    """Read the arguments, make the topic and write transactions each second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True, help="a broker of Kafka as host:port")
    parser.add_argument("--suffix", default="", help="what the name of the topic ends with (default nothing)")
    parser.add_argument("--out", help="not used: transactions go to Kafka")
    parser.add_argument("--port", help="not used: transactions go to Kafka")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=20, help="ordinary ones per second of the clock (default 20)")
    parser.add_argument("--speed", type=float, default=60, help="how much faster time runs (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same transactions")
    parser.add_argument(
        "--start",
        type=datetime.fromisoformat,
        help="time of the first transaction (default: so that the last is now)",
    )
    parser.add_argument("--planted", action="store_true", help="print each case that is planted, as a JSON line")
    given = parser.parse_args()
    topic = f"transactions{given.suffix}"
    producer = Producer({"bootstrap.servers": given.bootstrap, "enable.idempotence": True, "log_level": 0})
    create(given.bootstrap, topic)
    start = given.start or datetime.now(UTC) - timedelta(seconds=(given.speed - 1) * given.seconds)
    began = time.monotonic()
    batches = transactions(given.seed, given.rate, start, given.speed, given.seconds)
    for second, (batch, planted) in enumerate(batches):
        time.sleep(max(0.0, began + second - time.monotonic()))
        write(producer, topic, batch)
        for case in planted if given.planted else ():
            print(json.dumps(case), flush=True)


if __name__ == "__main__":
    main()
