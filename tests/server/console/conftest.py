"""One console over a made-up server and one headless browser for all tests of the pages."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

import headrace
from server.conftest import PATIENCE
from support.waiting import until

LONG = 120.0
"""Seconds for an answer that takes a moment."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running console: its address, and the folder in which it keeps applications and dashboards."""

    url: str
    folder: Path

    def tick(self, seconds: float = 1) -> None:
        """Let time go on; it stands otherwise."""
        httpx.post(f"{self.url}/_test/tick", params={"seconds": seconds}, timeout=LONG).raise_for_status()

    def reset(self) -> None:
        """Begin anew: tests change jobs, people and files."""
        httpx.post(f"{self.url}/_test/reset", timeout=LONG).raise_for_status()

    def become(self, job: str, state: str, reason: str) -> None:
        """Bring a job into a state."""
        told = {"state": state, "reason": reason}
        httpx.post(f"{self.url}/_test/state/{job}", params=told, timeout=LONG).raise_for_status()

    def options(self, name: str) -> dict[str, object]:
        """Return with what an application was submitted."""
        found: dict[str, object] = httpx.get(f"{self.url}/_test/options/{name}").json()
        return found

    def forget_sessions(self) -> None:
        httpx.post(f"{self.url}/_test/forget", timeout=LONG).raise_for_status()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("console")
    sources = Path(headrace.__file__).parents[1]
    tests = Path(__file__).parents[2]
    # NiceGUI behaves differently when it believes to be tested by pytest.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "NICEGUI"))}
    environment["PYTHONPATH"] = f"{sources}{os.pathsep}{tests}"
    command = [sys.executable, "-m", "server.console.serve", "--still", "--folder", str(folder)]
    log = tmp_path_factory.mktemp("log") / "server.log"
    with log.open("w") as errors:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, log.read_text()
        url = f"http://127.0.0.1:{port}"
        until(lambda: _answers(url))
        yield Served(url, folder)
    finally:
        process.terminate()
        process.wait(LONG)
        if process.stdout is not None:
            process.stdout.close()
    failed = failures_in(log.read_text())
    assert not failed, "\n\n".join(failed)


def failures_in(log: str) -> list[str]:
    """Return the tracebacks through our pages.

    Frameworks complain about browsers that leave in the middle of an answer, and about answers that come when what was
    to show them has gone; only our own failures count.
    """
    found = re.findall(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+.*$", log, re.MULTILINE)
    return [each for each in found if "headrace/server/console" in each]


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/login").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def outside() -> list[str]:
    """Addresses beyond this machine that pages have asked for: there must be none."""
    return []


@pytest.fixture
def context(browser: Browser, served: Served, outside: list[str]) -> Iterator[BrowserContext]:
    served.reset()
    opened = browser.new_context(base_url=served.url, viewport={"width": 1440, "height": 900}, color_scheme="light")
    opened.set_default_timeout(PATIENCE)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext, served: Served, outside: list[str]) -> Iterator[Page]:
    opened = context.new_page()
    failures: list[str] = []
    opened.on("pageerror", lambda error: failures.append(str(error)))
    opened.on("request", lambda request: _watch(request.url, served.url, outside))
    yield opened
    opened.close()
    assert failures == []
    assert outside == []


def _watch(address: str, own: str, outside: list[str]) -> None:
    if not address.startswith((own, own.replace("http", "ws", 1), "data:", "blob:")):
        outside.append(address)


@pytest.fixture
def log_in(page: Page) -> Callable[..., Page]:
    """Log in as somebody and open a page."""

    def go(name: str, address: str = "/") -> Page:
        page.goto(f"/login?next={address}")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill("water")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector(".shell")
        return page

    return go
