"""Writes auctions, then bids, into topics of Kafka: prices that rise, on some faster than on others."""

import argparse
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

ITEMS = (
    ("oak table", "furniture", "ines"),
    ("wing chair", "furniture", "otto"),
    ("sea chart", "paper", "ines"),
    ("first edition", "paper", "mara"),
    ("pocket watch", "clocks", "otto"),
    ("ship's clock", "clocks", "yuri"),
    ("jade bowl", "ceramics", "mara"),
    ("blue vase", "ceramics", "yuri"),
)
AUCTIONS = {
    number: {"id": number, "item": item, "category": category, "seller": seller}
    for number, (item, category, seller) in enumerate(ITEMS, start=1)
}
BIDDERS = ("ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana")
WEIGHTS = [2.0**-place for place in range(len(AUCTIONS))]
"""How bids are spread: each auction draws half as many as the one that is wanted more."""
FASHION = 15
"""Seconds after which other auctions are wanted."""
LATE, BROKEN = 1 / 100, 1 / 500

Message = tuple[int, str]


def bids(seed: int, rate: int, start: datetime) -> Iterator[list[Message]]:
    """Yield the bids of one second after the other, as auction and text; the same seed and start give the same."""
    chance = random.Random(seed)
    prices = {number: chance.randrange(10, 100) for number in AUCTIONS}
    wanted = list(AUCTIONS)
    for second in range(10**9):
        if second % FASHION == 0:
            chance.shuffle(wanted)
        batch = []
        for number in range(rate):
            (auction,) = chance.choices(wanted, WEIGHTS)
            prices[auction] += chance.randrange(1, 10)
            at = start + timedelta(seconds=second + number / rate)
            if chance.random() < LATE:
                at -= timedelta(seconds=chance.uniform(1, 15))
            price: object = prices[auction] if chance.random() >= BROKEN else "a lot"
            bid = {"auction": auction, "bidder": chance.choice(BIDDERS), "price": price, "placed_at": instant(at)}
            batch.append((auction, json.dumps(bid)))
        yield batch


def instant(at: datetime) -> str:
    """Return an instant as ISO 8601 has it, to the millisecond."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def create(servers: str, topic: str, partitions: int, **options: str) -> None:
    """Make a topic unless it is there."""
    client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    try:
        client.create_topics([NewTopic(topic, partitions, 1, config=options)])[topic].result(30)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def write(producer: Producer, topic: str, messages: list[Message]) -> None:
    """Write messages under their auction as the key, and return when the broker has them."""
    for auction, text in messages:
        producer.produce(topic, key=str(auction), value=text)
    if producer.flush(30):
        raise SystemExit("the broker does not take messages")


def main() -> None:
    """Read the arguments, make the topics and write bids each second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", required=True, help="a broker of Kafka as host:port")
    parser.add_argument("--suffix", default="", help="what the names of topics end with (default nothing)")
    parser.add_argument("--out", help="not used: bids go to Kafka")
    parser.add_argument("--port", help="not used: bids go to Kafka")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=50, help="bids per second (default 50)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same bids")
    parser.add_argument("--start", type=datetime.fromisoformat, help="time of the first bid (default now)")
    given = parser.parse_args()
    producer = Producer({"bootstrap.servers": given.bootstrap, "enable.idempotence": True, "log_level": 0})
    # The auctions first: an application reads them once, at its start. Where there is a topic of bids, they are there.
    create(given.bootstrap, f"auctions{given.suffix}", 1, **{"cleanup.policy": "compact"})
    write(producer, f"auctions{given.suffix}", [(number, json.dumps(auction)) for number, auction in AUCTIONS.items()])
    create(given.bootstrap, f"bids{given.suffix}", 2)
    start = given.start or datetime.now(UTC)
    began = time.monotonic()
    for second, batch in zip(range(given.seconds), bids(given.seed, given.rate, start), strict=False):
        time.sleep(max(0.0, began + second - time.monotonic()))
        write(producer, f"bids{given.suffix}", batch)


if __name__ == "__main__":
    main()
