"""A folder goes in; the environment of processes that note their views there and nowhere else comes out."""

import os
from pathlib import Path

from headrace.jars.home import headrace_home

FETCHED = ("jars", "operators")
QUICK_START = "-XX:TieredStopAtLevel=1"
"""For a Java that is killed soon: compiling well takes longer than it lives."""


def own_home(folder: Path) -> dict[str, str]:
    """Return an environment with a Headrace home of its own, which shares only what was fetched and compiled."""
    home = folder / "home"
    home.mkdir()
    for name in FETCHED:
        shared = headrace_home() / name
        shared.mkdir(exist_ok=True)
        (home / name).symlink_to(shared)
    return {**os.environ, "HEADRACE_HOME": str(home), "JAVA_TOOL_OPTIONS": QUICK_START}
