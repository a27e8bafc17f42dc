"""How smooth the console is in a browser: fifty jobs whose figures change, and a table of 10,000 rows.

    python benchmarks/console.py [--seconds 20]

The console stands over the server in memory that its tests use, so only pages are measured: fifty jobs with new figures
each second, and a view of 10,000 rows. A real Chromium without a window shows the overview, then scrolls through the
table, then does so while the changes of the view are followed. A gap is the time between two frames, 17 ms at best; a
long task keeps the page from answering for more than 50 ms. A page is usable once its rows are there.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
LIMIT = 200
"""Milliseconds: a gap that people see as a jerk."""
WATCH = """() => {
  window.gaps = [];
  window.tasks = [];
  let last = performance.now();
  const frame = (now) => { gaps.push(now - last); last = now; window.watching = requestAnimationFrame(frame); };
  window.watching = requestAnimationFrame((now) => { last = now; frame(now); });
  window.observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((each) => each.duration)));
  observer.observe({ type: "longtask" });
}"""
FOUND = "() => { cancelAnimationFrame(watching); observer.disconnect(); return [gaps.slice(1), tasks]; }"


@dataclass(frozen=True, slots=True)
class Smoothness:
    """Gaps between frames and long tasks, in milliseconds."""

    gaps: list[float]
    tasks: list[float]

    def gap(self, share: float) -> float:
        """Return the gap that a share of all gaps is below."""
        ordered = sorted(self.gaps)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@contextmanager
def served() -> Iterator[str]:
    """Give the address of a console; it is stopped at the end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests")))}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "server.console.serve", "--folder", folder]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()
            process.wait(60)


def usable(page: Page, address: str, sign: str) -> float:
    """Open a page; return after how many seconds something stands on it."""
    began = time.monotonic()
    page.goto(address)
    page.wait_for_selector(sign)
    return time.monotonic() - began


def watched(page: Page, seconds: float, act: Callable[[], None]) -> Smoothness:
    """Return how smooth a page is while something is done to it again and again."""
    page.evaluate(WATCH)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        act()
    gaps, tasks = page.evaluate(FOUND)
    return Smoothness(gaps, tasks)


def measure(page: Page, seconds: float) -> bool:
    """Print the figures of each page, and return whether they are good enough."""
    sys.stdout.write(f"{'page':<28}{'usable':>9}{'p50':>7}{'p99':>7}{'max':>7} ms between frames, longest task\n")
    good = True

    def rest() -> None:
        page.wait_for_timeout(100)

    def scroll() -> None:
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(30)

    def follow() -> None:
        page.get_by_role("button", name="Follow changes").click()
        page.wait_for_selector(".grid .row.flash")

    for name, address, sign, prepare, act in (
        ("50 jobs", "/", "[data-job]", None, rest),
        ("10,000 rows, scrolled", "/views/spending", ".grid .row .cell:text-matches('.')", None, scroll),
        ("10,000 rows, and followed", "/views/spending", ".grid .row .cell:text-matches('.')", follow, scroll),
    ):
        within = usable(page, address, sign)
        page.locator(sign).first.hover()
        if prepare is not None:
            prepare()
            page.locator(".grid").hover()
        found = watched(page, seconds, act)
        good = good and found.gap(0.99) <= LIMIT
        middle, late, most = found.gap(0.5), found.gap(0.99), max(found.gaps)
        tasks = f"{max(found.tasks, default=0):>7.0f} ms, {len(found.tasks)} long ones"
        sys.stdout.write(f"{name:<28}{within:>7.2f} s{middle:>7.0f}{late:>7.0f}{most:>7.0f}{tasks}\n")
        sys.stdout.flush()
    return good


def main() -> int:
    """Measure the console."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="how long each page is watched")
    options = parser.parse_args()
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(base_url=url, viewport={"width": 1440, "height": 900})
        page.set_default_timeout(120_000)
        page.goto("/login")
        page.get_by_label("Name").fill("victor")
        page.get_by_label("Password").fill("water")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_selector(".shell")
        good = measure(page, options.seconds)
        browser.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
