"""What a command raised goes in; a report on stderr and the exit code come out."""

import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from headrace.errors import HeadraceError, JobFailed

__all__ = ["FAILED", "INTERRUPTED", "USER_ERROR", "complain", "reported"]

USER_ERROR, FAILED, INTERRUPTED = 1, 3, 130


def complain(text: str) -> None:
    """Write a line for the user, apart from the rows."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except OSError:
        pass  # nobody is listening any more


@contextmanager
def reported() -> Iterator[None]:
    """Turn what is raised inside into a report and an exit code; a user's mistake shows no traceback."""
    try:
        yield
        sys.stdout.flush()
    except HeadraceError as error:
        complain(error.report())
        raise typer.Exit(FAILED if isinstance(error, JobFailed) else USER_ERROR) from error
    except BrokenPipeError as error:
        silence()
        raise typer.Exit(0) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error
    except Exception as error:
        if type(error).__module__.startswith("typer."):
            raise  # usage errors and exits are typer's to show
        complain(f"error: internal error, please report it: {type(error).__name__}: {_first_line(error)}")
        complain(f"detail: The traceback is in {_write_traceback()}.")
        raise typer.Exit(FAILED) from error


def silence() -> None:
    """Let what is still to be written to a closed pipe go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0][:200]


def _write_traceback() -> str:
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="headrace-error-", suffix=".log", delete=False
    ) as file:
        traceback.print_exc(file=file)
        return file.name
