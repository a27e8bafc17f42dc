"""One headless browser for all tests of a file."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 120_000
"""Milliseconds that a browser on a busy machine may need for what takes one."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Give a browser; as long as it is there, its event loop runs in this thread, and no other can."""
    if CHROMIUM is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("no chromium: install Debian's package chromium to run the browser tests")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE)
        yield started
        started.close()
