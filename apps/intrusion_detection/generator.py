"""Writes what sensors in a network report as JSON lines, one new file a second, with known attacks among it."""

import argparse
import heapq
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

ORDINARY = (("web", "page"), ("web", "search"), ("dns", "lookup"), ("mail", "delivery"), ("httpscan", "robots"))
"""Groups and names of events that are no attack; five crawlers ask for robots.txt, which is one name only."""
PROBES = ("admin", "backup", "config", "environment", "login", "phpinfo", "shell", "status", "upload", "version")
MOST_DISORDER = 8
"""Seconds by which an event may be written after a later one; the application waits 10 for it."""
BETWEEN_CASES = 25
"""Seconds, of the events' time, from one planted attack to the next."""
LONGEST_CASE = 300

Row = dict[str, object]


@dataclass(slots=True)
class Traffic:
    """Events on their way: each is written a little after it happened, so they come out of order.

    An attack has addresses of its own, so that none is the cause of another alert.
    """

    chance: random.Random
    start: datetime
    waiting: list[tuple[float, int, Row]] = field(default_factory=list)
    planted: list[Row] = field(default_factory=list)
    cases: int = 0
    events: int = 0

    def add(self, at: float, src: str, dst: str, name: str, group: str) -> None:
        """Let an event happen, so many seconds after the start."""
        self.events += 1
        row: Row = {"ts": self.instant(at), "src": src, "dst": dst, "event_name": name, "event_group": group}
        heapq.heappush(self.waiting, (at + self.chance.uniform(0, MOST_DISORDER), self.events, row))

    def instant(self, at: float) -> str:
        """Return an instant as ISO 8601 has it, to the millisecond."""
        text = (self.start + timedelta(seconds=round(at, 3))).isoformat(timespec="milliseconds")
        return text.replace("+00:00", "Z")

    def plant(self, rule: str, address: str, at: float, events: int) -> None:
        """Remember what an alert is expected of."""
        self.planted.append({"rule": rule, "address": address, "began_at": self.instant(at), "events": events})

    def ordinary(self, at: float) -> None:
        """Let something happen that is no attack."""
        group, name = self.chance.choice(ORDINARY)
        src = f"192.168.0.{self.chance.randrange(1, 6)}" if group == "httpscan" else f"10.0.{self.host()}"
        self.add(at, src, f"10.1.{self.host()}", name, group)

    def host(self) -> str:
        """Return the last half of an address."""
        return f"{self.chance.randrange(4)}.{self.chance.randrange(1, 255)}"

    def case(self, at: float) -> None:
        """Plant an attack of each rule in turn, and every second time one that just misses the rule."""
        number, rule = divmod(self.cases, 3)
        address = f"172.{16 + self.cases // 62500}.{self.cases // 250 % 250}.{self.cases % 250 + 1}"
        (self.brute_force, self.scan, self.peer_to_peer)[rule](at, address, number // 2, bool(number % 2))
        self.cases += 1

    def brute_force(self, at: float, address: str, number: int, missed: bool) -> None:
        """Plant 20 or more attempts within 2 minutes, or 19, or 20 of which the last comes as they are over."""
        if missed:
            times = [6.0 * i for i in range(19)] + ([] if number % 2 else [120.0])
        elif number % 2:  # 4 minutes: an alert for each 2 of them
            times = [5.0 * i for i in range(48)]
            self.plant("generalbruteforce", address, at + 120, 24)
            self.plant("generalbruteforce", address, at, 24)
        else:
            more = self.chance.randrange(15)
            times = [6.0 * i for i in range(19)] + [108.5 + 0.5 * i for i in range(more)] + [119.999]
            self.plant("generalbruteforce", address, at, 20 + more)
        for each in times:
            self.add(at + each, f"203.0.113.{self.chance.randrange(1, 9)}", address, "password", "generalbruteforce")

    def scan(self, at: float, address: str, number: int, missed: bool) -> None:
        """Plant more than 5 names within 3 minutes, or 5, or 6 of which the last comes as they are over."""
        names = self.chance.sample(PROBES, 5 if missed and number % 2 else 6)
        times = [10.0 * i for i in range(5)] + [180.0 if missed else 179.999]
        probes = [*zip(times, names, strict=False), *((55 + 9.0 * i, names[i]) for i in range(1, 5))]
        if not missed:
            self.plant("httpscan", address, at, len(probes))
        for each, name in probes:
            self.add(at + each, address, f"10.1.{self.host()}", name, "httpscan")
        self.add(at + 15, address, f"10.1.{self.host()}", "page", "web")  # another group: not a name more

    def peer_to_peer(self, at: float, address: str, number: int, missed: bool) -> None:
        """Plant a transfer, or an event of another group with such a name."""
        if not missed:
            self.plant("p2p", address, at, 1)
        name = ("torrent", "share")[number % 2]
        self.add(at, address, f"10.1.{self.host()}", name, "web" if missed else "p2p")


def events(seed: int, rate: int, start: datetime, speed: float, seconds: int) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the events of one second of the clock after the other, and the attacks that were planted meanwhile.

    What begins too late to end in time is not planted.
    """
    traffic = Traffic(random.Random(seed), start)
    next_case = 5.0
    for second in range(seconds):
        for part in range(rate):
            traffic.ordinary(speed * (second + part / rate))
        while next_case < min(speed * (second + 1), speed * seconds - LONGEST_CASE):
            traffic.case(next_case)
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
    parser.add_argument("--rate", type=int, default=50, help="ordinary ones per second of the clock (default 50)")
    parser.add_argument("--speed", type=float, default=20, help="how much faster time runs (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same events")
    parser.add_argument(
        "--start", type=datetime.fromisoformat, help="time of the first event (default: so that the last is now)"
    )
    parser.add_argument("--planted", action="store_true", help="print each alert to be expected, as a JSON line")
    given = parser.parse_args()
    folder = given.out / "events"
    folder.mkdir(parents=True, exist_ok=True)
    start = given.start or datetime.now(UTC) - timedelta(seconds=(given.speed - 1) * given.seconds)
    began = time.monotonic()
    batches = events(given.seed, given.rate, start, given.speed, given.seconds)
    for second, (batch, planted) in enumerate(batches):
        time.sleep(max(0.0, began + second - time.monotonic()))
        write(folder, f"{start:%Y%m%dT%H%M%S}-{second:06d}.json", batch)
        for case in planted if given.planted else ():
            print(json.dumps(case), flush=True)


if __name__ == "__main__":
    main()
