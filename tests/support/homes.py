"""A folder goes in; the environment of processes that note their views there and nowhere else comes out."""

import os
from pathlib import Path

from headrace.jars.home import headrace_home

FETCHED = ("jars", "operators", "classes")
QUICK_START = "-XX:TieredStopAtLevel=1"
"""For a Java that is killed soon: compiling well takes longer than it lives."""


def new_home(folder: Path) -> Path:
    """Return a new Headrace home, which shares only what was fetched and compiled."""
    home = folder / "home"
    home.mkdir()
    for name in FETCHED:
        shared = headrace_home() / name
        shared.mkdir(exist_ok=True)
        (home / name).symlink_to(shared.resolve())
    return home


def own_home(folder: Path) -> dict[str, str]:
    """Return the environment of processes with a Headrace home of their own."""
    return {**os.environ, "HEADRACE_HOME": str(new_home(folder)), "JAVA_TOOL_OPTIONS": QUICK_START}
