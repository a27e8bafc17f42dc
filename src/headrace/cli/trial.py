"""The process of one trial: its folder goes in, the rows of its query come out as JSON lines.

``python -m headrace.cli.trial FOLDER SECONDS`` runs what a server has left in the folder; it keeps nothing elsewhere.
"""

import sys
from pathlib import Path

import typer

from headrace.cli.failures import reported
from headrace.cli.foreground import run_foreground
from headrace.server.services.trial import application_in

__all__ = ["main"]


def main(folder: Path, seconds: float) -> int:
    """Run a trial for a while, and return the exit code."""
    try:
        with reported():
            run_foreground(application_in(folder), "json", changes=True, fresh=False, seconds=seconds, resumes=False)
    except typer.Exit as ended:
        return ended.exit_code
    return 0


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2])))
