"""Writes searches and clicks as JSON lines, new files each second; their time runs faster than the clock."""

import argparse
import heapq
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

CHANCES = {"camera": 0.6, "tripod": 0.45, "lens cap": 0.3, "film": 0.15}
"""How likely a search for each query is to be followed by a click."""
LONGEST = 360
"""Seconds from a search to its click, at most: some come too late to count."""

Row = dict[str, object]


def events(seed: int, rate: int, start: datetime, speed: float) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the searches and the clicks of one second of the clock after the other."""
    chance = random.Random(seed)
    number = 0
    waiting: list[tuple[float, int, str, int]] = []
    for second in range(10**9):
        searches = []
        for part in range(rate):
            number += 1
            seconds = speed * (second + part / rate)
            query = chance.choice(list(CHANCES))
            search_id = f"s{number:07d}"
            searches.append({"search_id": search_id, "query": query, "at": instant(start, seconds)})
            if chance.random() < CHANCES[query]:
                later = min(chance.expovariate(1 / 60), LONGEST)
                heapq.heappush(waiting, (seconds + later, number, search_id, chance.randint(1, 10)))
        clicks = []
        while waiting and waiting[0][0] < speed * (second + 1):
            seconds, _, search_id, result = heapq.heappop(waiting)
            clicks.append({"search_id": search_id, "result": result, "at": instant(start, seconds)})
        yield searches, clicks


def instant(start: datetime, seconds: float) -> str:
    """Return an instant as ISO 8601 has it, to the millisecond."""
    at = start + timedelta(seconds=seconds)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(folder: Path, name: str, rows: list[Row]) -> None:
    """Write a file that appears whole or not at all: readers pass over names that begin with a dot."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    hidden.rename(folder / name)


def main() -> None:
    """Read the arguments and write two files each second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("data"), help="the folder (default data)")
    parser.add_argument("--port", help="not used: events go into files")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=20, help="searches per second of the clock (default 20)")
    parser.add_argument("--speed", type=float, default=60, help="how much faster time runs (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same events")
    parser.add_argument(
        "--start",
        type=datetime.fromisoformat,
        help="time of the first search (default: so that the last is now)",
    )
    given = parser.parse_args()
    folders = [given.out / "searches", given.out / "clicks"]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    ahead = timedelta(seconds=(given.speed - 1) * given.seconds)
    start = given.start or datetime.now(UTC) - ahead
    began = time.monotonic()
    batches = events(given.seed, given.rate, start, given.speed)
    for second, batch in zip(range(given.seconds), batches, strict=False):
        time.sleep(max(0.0, began + second - time.monotonic()))
        for folder, rows in zip(folders, batch, strict=True):
            write(folder, f"{folder.name}-{start:%Y%m%dT%H%M%S}-{second:06d}.json", rows)


if __name__ == "__main__":
    main()
