"""How quickly a server answers while thirty jobs come at once, and how long `headrace up` takes to be of use.

    python benchmarks/server.py jobs [--drivers fake|spark] [--jobs 30] [--cores N] [--rate 30] [--lasting SECONDS]
                                     [--nice N]
    python benchmarks/server.py up

`jobs` starts a server, submits small jobs at once, each by a client of its own, and asks meanwhile for lists and for
single jobs at a steady rate; an answer's time counts from the moment at which its request was due. Fake drivers are
processes that only beat, so all run at once; those of Spark compute a view of constants and end, as many at a time as
there are cores. It ends when every job has finished, or when the time is over; it has failed if a job of Spark has not
finished by then, or if the p99 of answers is too long. `up` starts broker, server and console
in a new home, with jars as they are kept in the home of this user, until the log-in of the page is accepted.
"""

import argparse
import asyncio
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.homes import new_home  # noqa: E402

LIMIT = 0.3
FAKE = """
CREATE STREAM events (k STRING, v INT) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW totals_{number} AS SELECT k, sum(v) AS total FROM events GROUP BY k;
"""
SPARK = """
SET shuffle_partitions = 1;
CREATE MATERIALIZED VIEW totals_{number} AS
  SELECT k, sum(v) AS total FROM (VALUES ('a', 1), ('b', 2)) AS t(k, v) GROUP BY k;
"""
SERVE = """
import sys
from pathlib import Path
from headrace.cli.serve import _tell
from headrace.server.process import run_server
from headrace.server.settings import Settings
run_server(Settings(data=Path("data"), port=0, driver=(sys.executable, sys.argv[1]), cores=int(sys.argv[2]),
                    memory=2**20), _tell)
"""
ROUTES = ("/jobs", "/jobs/{job}", "/views", "/catalog", "/metrics", "/applications")
Times = dict[str, list[float]]
UNANSWERED: list["asyncio.Task[None]"] = []


@contextmanager
def started(folder: Path, *command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Give a server's process and address; it is stopped at the end, its jobs before it."""
    environment = {**os.environ, "HEADRACE_HOME": str(new_home(folder))}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("Headrace"):
                    yield process, line.split()[1]
                    break
            else:
                raise RuntimeError((folder / "server.log").read_text())
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


async def ask_on(http: httpx.AsyncClient, rate: float, count: int, ended: asyncio.Event, times: Times) -> None:
    """Ask the routes in turn until told to end; each request has its moment, however slow those before it are."""
    asking: set[asyncio.Task[None]] = set()
    began, number = time.monotonic(), 0
    while not ended.is_set():
        due = began + number / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        route = ROUTES[number % len(ROUTES)]
        task = asyncio.create_task(ask(http, route, number % count, due, times))
        asking.add(task)
        task.add_done_callback(_ended_well)
        task.add_done_callback(asking.discard)
        number += 1
    await asyncio.gather(*asking, return_exceptions=True)


def _ended_well(task: asyncio.Task[None]) -> None:
    """Note a request that was not answered as it should be."""
    if task.exception() is not None:
        sys.stdout.write(f"a request was not answered: {task.exception()!r}\n")
        UNANSWERED.append(task)


async def ask(http: httpx.AsyncClient, route: str, number: int, due: float, times: Times) -> None:
    """Ask once, and note how long after its moment the answer was there."""
    path = route.format(job=f"job-{number:02d}")
    answer = await http.get(path if route == "/metrics" else f"/api/v1{path}")
    if answer.status_code == 200 or (answer.status_code == 404 and "{" in route):  # it may not be submitted yet
        times[route].append(time.monotonic() - due)
        return
    raise RuntimeError(f"{path}: {answer.status_code} {answer.text}")


async def submit(http: httpx.AsyncClient, number: int, kind: str, times: Times) -> None:
    """Submit one job."""
    text = (FAKE if kind == "fake" else SPARK).format(number=number)
    body = {"name": f"job-{number:02d}", "text": text, "variables": {"BEAT": "1"}, "cores": 1, "memory": 512}
    began = time.monotonic()
    answer = await http.post("/api/v1/jobs", json=body)
    answer.raise_for_status()
    times["POST /jobs"].append(time.monotonic() - began)


async def states(http: httpx.AsyncClient, count: int) -> Counter[str]:
    """Return how many jobs are in each state."""
    answer = await http.get("/api/v1/jobs", params={"limit": count})
    return Counter(job["state"] for job in answer.json()["items"])


async def measure(url: str, token: str, options: argparse.Namespace) -> tuple[Times, Counter[str]]:
    """Submit the jobs, ask until they are done, and return the times of all answers, and how the jobs are."""
    times: Times = defaultdict(list)
    headers = {"Authorization": f"Bearer {token}"}
    limits = httpx.Limits(max_connections=100)
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60, limits=limits) as http:
        ended = asyncio.Event()
        asking = asyncio.create_task(ask_on(http, options.rate, options.jobs, ended, times))
        await asyncio.sleep(1)
        began = time.monotonic()
        await asyncio.gather(*(submit(http, each, options.drivers, times) for each in range(options.jobs)))
        sys.stdout.write(f"{options.jobs} jobs submitted in {time.monotonic() - began:.2f} s\n")
        last: Counter[str] = Counter()
        while time.monotonic() - began < options.lasting and not asking.done():
            found = await states(http, options.jobs)
            if found != last:
                told = ", ".join(f"{count} {state}" for state, count in sorted(found.items()))
                sys.stdout.write(f"{time.monotonic() - began:6.1f} s: {told}\n")
                sys.stdout.flush()
                last = found
            if found["finished"] + found["failed"] == options.jobs:
                break
            await asyncio.sleep(1)
        ended.set()
        await asking
        for each in range(options.jobs):
            await http.post(f"/api/v1/jobs/job-{each:02d}/stop", json={})
        while (await states(http, options.jobs)).keys() - {"stopped", "finished", "failed"}:
            await asyncio.sleep(0.5)
    return times, last


def tell(times: Times) -> bool:
    """Print the times, in milliseconds, and return whether they are short enough."""
    every = [each for several in times.values() for each in several]
    reading = [each for route, several in times.items() if not route.startswith("POST") for each in several]
    sys.stdout.write(f"{'route':<16}{'answers':>9}{'p50':>8}{'p99':>8}{'max':>8} ms\n")
    for name, several in [*sorted(times.items()), ("all but POST", reading), ("all", every)]:
        at = [_at(several, share) * 1000 for share in (0.5, 0.99, 1)]
        sys.stdout.write(f"{name:<16}{len(several):>9}{at[0]:>8.0f}{at[1]:>8.0f}{at[2]:>8.0f}\n")
    slow = _at(every, 0.99)
    sys.stdout.write(f"p99 of all: {slow * 1000:.0f} ms, and may be {LIMIT * 1000:.0f} ms\n")
    return slow <= LIMIT and not UNANSWERED


def _at(times: list[float], share: float) -> float:
    """Return the time within which such a share of the answers came."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def jobs(options: argparse.Namespace) -> int:
    """Measure a server while many jobs come."""
    fake = options.drivers == "fake"
    options.lasting = options.lasting or (60 if fake else 900)
    cores = options.cores or (options.jobs if fake else os.cpu_count() or 2)
    if fake:
        command = ["-c", SERVE, str(ROOT / "tests" / "support" / "fake_driver.py"), str(cores)]
    else:
        command = ["-m", "headrace.cli.main", "serve", "--port", "0", "--data", "data", "--cores", str(cores)]
        command += [] if options.nice is None else ["--nice", str(options.nice)]
    with tempfile.TemporaryDirectory() as folder, started(Path(folder), *command) as (_, url):
        token = Path(folder, "data", "local-token").read_text().strip()
        times, found = asyncio.run(measure(url, token, options))
    wanted, count = ("running", min(options.jobs, cores)) if fake else ("finished", options.jobs)
    sys.stdout.write(f"{found[wanted]} of {count} jobs were {wanted} at the end\n")
    return 0 if tell(times) and found[wanted] == count else 1


def up(_options: argparse.Namespace) -> int:
    """Measure the time to a console that can be used."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = ("-m", "headrace.cli.main", "up", "--port", "0")
        with started(Path(folder), *command) as (process, url), httpx.Client(base_url=url, timeout=60) as http:
            _told("address printed", began)
            page = http.get("/", follow_redirects=True)
            assert 'action="/login"' in page.text
            _told("log-in page served", began)
            assert process.stdout is not None
            password, broker = "", ""
            for line in process.stdout:
                if line.startswith("broker"):
                    broker = line.split()[1]
                    _told("broker answers", began)
                if found := re.match(r"password +(\S+)", line):
                    password = found[1]
                    answer = http.post("/api/v1/login", json={"name": "admin", "password": password})
                    answer.raise_for_status()
                    page = http.get("/", follow_redirects=True)
                    assert page.status_code == 200
                    assert 'action="/login"' not in page.text
                    _told("logged in, overview served", began)
                if password and broker:
                    break
            used = time.monotonic() - began
    return 0 if used < 30 else 1


def _told(what: str, began: float) -> None:
    sys.stdout.write(f"{time.monotonic() - began:6.2f} s  {what}\n")


def main() -> int:
    """Run a measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True)
    of_jobs = kinds.add_parser("jobs")
    of_jobs.add_argument("--drivers", choices=("fake", "spark"), default="fake")
    of_jobs.add_argument("--jobs", type=int, default=30)
    of_jobs.add_argument("--cores", type=int)
    of_jobs.add_argument("--rate", type=float, default=30, help="requests per second")
    of_jobs.add_argument("--lasting", type=float, help="seconds; 60 with fake drivers, 900 with those of Spark")
    of_jobs.add_argument("--nice", type=int, help="how much drivers of Spark yield; the server's default")
    of_jobs.set_defaults(run=jobs)
    kinds.add_parser("up").set_defaults(run=up)
    options = parser.parse_args()
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
