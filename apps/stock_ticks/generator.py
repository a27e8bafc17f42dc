"""Writes ticks as JSON lines, one new file a second: prices that wander, each symbol on its own."""

import argparse
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

FIRST_PRICES = {"ACME": 120.0, "BOLT": 45.0, "CRAG": 310.0, "DUNE": 8.5, "ECHO": 77.0}


def ticks(seed: int, rate: int, start: datetime) -> Iterator[list[dict[str, object]]]:
    """Yield the ticks of one second after the other; the same seed and start give the same ticks."""
    chance = random.Random(seed)
    prices = dict(FIRST_PRICES)
    symbols = list(prices)
    for second in range(10**9):
        batch = []
        for number in range(rate):
            symbol = chance.choice(symbols)
            prices[symbol] = max(0.01, prices[symbol] * (1 + chance.gauss(0, 0.002)))
            at = start + timedelta(seconds=second + number / rate)
            batch.append({"symbol": symbol, "price": round(prices[symbol], 2), "at": instant(at)})
        yield batch


def instant(at: datetime) -> str:
    """Return an instant as ISO 8601 has it, to the millisecond."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    """Write a file that appears whole or not at all: readers pass over names that begin with a dot."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    hidden.rename(folder / name)


def main() -> None:
    """Read the arguments and write a file each second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("data"), help="the folder (default data)")
    parser.add_argument("--port", help="not used: ticks go into files")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=20, help="ticks per second (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same ticks")
    parser.add_argument("--start", type=datetime.fromisoformat, help="time of the first tick (default now)")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    start = given.start or datetime.now(UTC)
    began = time.monotonic()
    batches = ticks(given.seed, given.rate, start)
    for second, batch in zip(range(given.seconds), batches, strict=False):
        time.sleep(max(0.0, began + second - time.monotonic()))
        write(given.out, f"ticks-{start:%Y%m%dT%H%M%S}-{second:06d}.json", batch)


if __name__ == "__main__":
    main()
