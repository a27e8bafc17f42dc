"""A trial goes in; it runs in a process of its own, and the rows of its query come out."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from headrace.errors import HeadraceError
from headrace.server.services.trial import Trial, mistake_in

__all__ = ["SECONDS", "TriedRow", "clear_trials", "rows_of"]

SECONDS = 300
"""How long a trial runs at most."""
END_WITHIN = 20
"""Seconds for its Spark to end by itself."""
PREFIX = "trial-"
_running = asyncio.Semaphore(2)


@dataclass(frozen=True, slots=True)
class TriedRow:
    """A row that came or went, with the values of its columns."""

    change: str
    values: tuple[Any, ...]


def clear_trials(place: Path) -> None:
    """Remove the folders of trials that a server left which did not come to its end."""
    shutil.rmtree(place, ignore_errors=True)


async def rows_of(trial: Trial, place: Path, seconds: int = SECONDS) -> AsyncGenerator[TriedRow, None]:
    """Run a trial and give its rows as they come; only a few run at a time, each in a folder of its own in a place."""
    if _running.locked():
        raise HeadraceError("others are trying queries already", hint="Try again in a moment.", passing=True)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    try:
        trial.write(folder)
        async with _running, aclosing(_run(trial, folder, seconds)) as rows:
            async for row in rows:
                yield row
    finally:
        await to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))


async def _run(trial: Trial, folder: Path, seconds: int) -> AsyncGenerator[TriedRow, None]:
    names = [name for name, _ in trial.columns]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "headrace.cli.trial",
        str(folder),
        str(seconds),
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # functions may be in a folder that is not the trial's
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # what is said is in the folder
        limit=2**22,
    )
    assert process.stdout is not None
    try:
        async for line in process.stdout:
            row = json.loads(line)
            change = str(row.pop("_change", "insert"))
            yield TriedRow(change, tuple(row.get(name) for name in names))
        await process.wait()
        if process.returncode:
            raise mistake_in(folder)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), END_WITHIN)
            if process.returncode is None:
                process.kill()
