"""Serves lines of text on a TCP port, a few each second, to whoever connects."""

import argparse
import random
import socket
import time
from collections.abc import Iterator

SUBJECTS = ("the river", "the mill", "the wheel", "a miller", "the sluice", "the headrace")
VERBS = ("turns", "feeds", "stops", "watches", "fills")
OBJECTS = ("the stone", "the wheel", "the pond", "the tailrace", "a bucket", "the grain")


def lines(seed: int) -> Iterator[str]:
    """Yield lines without end; the same seed gives the same lines."""
    chance = random.Random(seed)
    while True:
        yield f"{chance.choice(SUBJECTS)} {chance.choice(VERBS)} {chance.choice(OBJECTS)}"


def serve(port: int, seconds: float, rate: int, seed: int) -> None:
    """Send lines to one reader after the other until the time is over."""
    ends = time.monotonic() + seconds
    with socket.create_server(("127.0.0.1", port), reuse_port=False) as server:
        print(f"serving on port {server.getsockname()[1]}", flush=True)
        while (left := ends - time.monotonic()) > 0:
            server.settimeout(left)
            try:
                reader, _ = server.accept()
            except TimeoutError:
                return
            with reader:
                send(reader, ends, rate, seed)


def send(reader: socket.socket, ends: float, rate: int, seed: int) -> None:
    """Send lines to a reader until it goes or the time is over."""
    for line in lines(seed):
        if time.monotonic() > ends:
            return
        try:
            reader.sendall(line.encode() + b"\n")
        except OSError:
            return
        time.sleep(1 / rate)


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", help="not used: lines go over the socket")
    parser.add_argument("--port", type=int, default=9999, help="the port to listen on (default 9999)")
    parser.add_argument("--seconds", type=float, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=5, help="lines per second (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same lines")
    given = parser.parse_args()
    serve(given.port, given.seconds, given.rate, given.seed)


if __name__ == "__main__":
    main()
