"""The process of one trial: its folder goes in, the rows of its query come out as JSON lines.

``python -m headrace.cli.trial FOLDER SECONDS`` runs what a server has left in the folder; it keeps nothing elsewhere.
Only rows come out on stdout: what functions print, and what is said meanwhile, is in a file of the folder.
"""

import os
import re
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from headrace.cli.foreground import run_foreground
from headrace.errors import HeadraceError
from headrace.server.services.trial import LOG, application_in, leave_mistake

__all__ = ["main", "run"]

_RESUMES = re.compile(r": it resumes from its checkpoint\.$")


def main(folder: Path, seconds: float, rows: TextIO) -> int:
    """Run a trial for a while, and return the exit code; what goes wrong is left in the folder."""
    try:
        application = application_in(folder)
        run_foreground(application, "json", changes=True, fresh=False, seconds=seconds, resumes=False, stream=rows)
    except HeadraceError as error:
        leave_mistake(folder, _of_trial(error, folder))
        return 1
    except Exception:
        traceback.print_exc()  # of which the server tells the end
        return 1
    return 0


def _of_trial(error: HeadraceError, folder: Path) -> HeadraceError:
    """Return a mistake that names nothing that goes with the trial: its log and its checkpoint."""
    hint = None if error.hint is None else _RESUMES.sub(".", error.hint)
    return HeadraceError(error.message, detail=error.detail, hint=None if str(folder) in (hint or "") else hint)


def _rows_apart(log: Path) -> TextIO:
    """Return what stdout was, for rows; stdout and stderr go to a file from now on, those of child processes too."""
    rows = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(target, 1)
    os.dup2(target, 2)
    os.close(target)
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    return rows


def run(folder: Path, seconds: float) -> int:
    """Run a trial as a process of its own, and return the exit code."""
    rows = _rows_apart(folder / LOG)
    code = main(folder, seconds, rows)
    with suppress(BrokenPipeError):
        rows.close()
    return code


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), float(sys.argv[2])))
