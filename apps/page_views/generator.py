"""Writes page views as JSON lines, one new file a second; their time runs faster than the clock."""

import argparse
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

PAGES = ("/", "/search", "/cart", "/help", "/offers", "/product/1", "/product/2", "/product/3")
WEIGHTS = (9, 6, 3, 1, 4, 5, 4, 2)
USERS = 40
MOST_DISORDER = 5
"""Seconds by which a view may be written after a later one."""


def views(seed: int, rate: int, start: datetime, speed: float) -> Iterator[list[dict[str, object]]]:
    """Yield the views of one second of the clock after the other; ``speed`` seconds of theirs.

    Users come and go: a few are active at a time, so that their visits have an end.
    """
    chance = random.Random(seed)
    active = chance.sample(range(USERS), 6)
    for second in range(10**9):
        active[chance.randrange(len(active))] = chance.randrange(USERS)
        batch = []
        for number in range(rate):
            seconds = speed * (second + number / rate) - chance.uniform(0, MOST_DISORDER)
            batch.append(
                {
                    "at": instant(start + timedelta(seconds=max(0.0, seconds))),
                    "user_id": f"u{chance.choice(active):02d}",
                    "page": chance.choices(PAGES, WEIGHTS)[0],
                }
            )
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
    parser.add_argument("--port", help="not used: views go into files")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=30, help="views per second of the clock (default 30)")
    parser.add_argument("--speed", type=float, default=20, help="how much faster time runs (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same views")
    parser.add_argument(
        "--start",
        type=datetime.fromisoformat,
        help="time of the first view (default: so that the last is now)",
    )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    ahead = timedelta(seconds=(given.speed - 1) * given.seconds)
    start = given.start or datetime.now(UTC) - ahead
    began = time.monotonic()
    batches = views(given.seed, given.rate, start, given.speed)
    for second, batch in zip(range(given.seconds), batches, strict=False):
        time.sleep(max(0.0, began + second - time.monotonic()))
        write(given.out, f"views-{start:%Y%m%dT%H%M%S}-{second:06d}.json", batch)


if __name__ == "__main__":
    main()
