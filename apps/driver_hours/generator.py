"""Writes pick-ups and drop-offs of taxis as JSON lines, one new file a second, with known breaches among them."""

import argparse
import heapq
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

BREAK_DUE = "Break due"
NO_BREAK = "More than 4.5 hours without a break"
NINE_HOURS = "More than 9 hours in 12"
CASES: tuple[tuple[tuple[int, ...], tuple[tuple[str, int], ...]], ...] = (
    ((100, 44, 100, 10, 71), ((NO_BREAK, 4),)),  # 271 minutes with too short breaks
    ((100, 44, 100, 10, 70), ()),  # 270
    ((100, 44, 100, 45, 71), ()),  # the second break is long enough
    ((270,), ((BREAK_DUE, 0),)),  # due, but not exceeded
    ((269, 45, 60), ()),
    ((300,), ((BREAK_DUE, 0), (NO_BREAK, 0))),
    ((200, 45, 200, 45, 141), ((NINE_HOURS, 4),)),  # 541 minutes
    ((200, 45, 200, 45, 140), ()),  # 540
    ((240, 60, 240, 120, 61), ()),  # 541 minutes, but the first of them are 12 hours past: 540
    ((120, 20, 120, 20, 60, 60, 180, 50, 90), ((NO_BREAK, 4), (NINE_HOURS, 8))),
)
"""Shifts as minutes of driving and waiting in turn, and which alerts they cause at which of their parts."""
MOST_DISORDER = 480
"""Seconds by which an event may be written after a later one; the application waits 10 minutes for it."""
BETWEEN_CASES = 7200
"""Seconds, of the events' time, from one planted shift to the next."""

Row = dict[str, object]


@dataclass(slots=True)
class Traffic:
    """Events on their way: each is written a little after it happened, so they come out of order.

    Each shift has a driver of its own. A trip that would end after the end is not begun.
    """

    chance: random.Random
    start: datetime
    ends: float
    waiting: list[tuple[float, int, Row]] = field(default_factory=list)
    planted: list[Row] = field(default_factory=list)
    cases: int = 0
    drivers: int = 0
    events: int = 0

    def drive(self, begins: float, shift: tuple[int, ...], name: str) -> None:
        """Let a driver drive and wait in turn."""
        at = begins
        for driving, waiting in zip(shift[::2], (*shift[1::2], 0), strict=True):
            if at + driving * 60 >= self.ends:
                break
            self.add(at, name, "pick-up")
            self.add(at + driving * 60, name, "drop-off")
            at += (driving + waiting) * 60

    def add(self, at: float, licence: str, event: str) -> None:
        """Let an event happen, so many seconds after the start."""
        self.events += 1
        row: Row = {"licence": licence, "at": self.instant(at), "event": event}
        heapq.heappush(self.waiting, (at + self.chance.uniform(0, MOST_DISORDER), self.events, row))

    def instant(self, at: float) -> str:
        """Return an instant as ISO 8601 has it, to the millisecond."""
        text = (self.start + timedelta(seconds=round(at, 3))).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")

    def ordinary(self, at: float) -> None:
        """Let a driver work for up to 8 hours, and take a break of 45 minutes or more after each third trip."""
        self.drivers += 1
        shift: list[int] = []
        for trip in range(1, 10):
            rest = self.chance.randint(5, 30) if trip % 3 else self.chance.randint(45, 70)
            shift += [self.chance.randint(10, 50), rest]
        self.drive(at, tuple(shift[: self.chance.randrange(5, 18, 2)]), f"L{self.drivers:06d}")

    def case(self, at: float) -> bool:
        """Plant the next of the known shifts, unless it would not end in time."""
        shift, alerts = CASES[self.cases % len(CASES)]
        if at + sum(shift) * 60 >= self.ends:
            return False
        self.cases += 1
        licence = f"C{self.cases:06d}"
        self.drive(at, shift, licence)
        for reason, part in alerts:
            minutes = 270 if reason == BREAK_DUE else sum(shift[: part + 1])
            self.planted.append({"reason": reason, "licence": licence, "at": self.instant(at + minutes * 60)})
        return True


def journeys(
    seed: int, rate: int, start: datetime, speed: float, seconds: int
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the events of one second of the clock after the other, and the alerts that were planted meanwhile."""
    traffic = Traffic(random.Random(seed), start, speed * seconds)
    next_case = 60.0
    for second in range(seconds):
        for part in range(rate):
            traffic.ordinary(speed * (second + part / rate))
        while next_case < speed * (second + 1) and traffic.case(next_case):
            next_case += BETWEEN_CASES
        batch = []
        while traffic.waiting and (traffic.waiting[0][0] < speed * (second + 1) or second == seconds - 1):
            batch.append(heapq.heappop(traffic.waiting)[2])
        traffic.chance.shuffle(batch)
        planted, traffic.planted = traffic.planted, []
        yield batch, planted


def write(folder: Path, name: str, rows: list[Row]) -> None:
    """Write a file that appears whole or not at all: readers pass over names that begin with a dot."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    hidden.rename(folder / name)


def main() -> None:
    """Read the arguments and write a file each second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("data"), help="the folder (default data)")
    parser.add_argument("--port", help="not used: events go into files")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=4, help="drivers who begin per second of the clock (default 4)")
    parser.add_argument("--speed", type=float, default=1800, help="how much faster time runs (default 1800)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same events")
    parser.add_argument(
        "--start", type=datetime.fromisoformat, help="time of the first event (default: so that the last is now)"
    )
    parser.add_argument("--planted", action="store_true", help="print each alert to be expected, as a JSON line")
    given = parser.parse_args()
    folder = given.out / "journeys"
    folder.mkdir(parents=True, exist_ok=True)
    start = given.start or datetime.now(UTC) - timedelta(seconds=(given.speed - 1) * given.seconds)
    began = time.monotonic()
    batches = journeys(given.seed, given.rate, start, given.speed, given.seconds)
    for second, (batch, planted) in enumerate(batches):
        time.sleep(max(0.0, began + second - time.monotonic()))
        write(folder, f"{start:%Y%m%dT%H%M%S}-{second:06d}.json", batch)
        for case in planted if given.planted else ():
            print(json.dumps(case), flush=True)


if __name__ == "__main__":
    main()
