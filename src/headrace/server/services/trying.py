"""A text goes in; it runs in a process of its own without its sinks, and the rows of its last query come out."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from headrace.application import Application
from headrace.catalog.imports import Import
from headrace.errors import HeadraceError
from headrace.jobs.offers import Resolve, resolved
from headrace.language import fill, parse
from headrace.language.dialect import Headrace
from headrace.language.statements import CreateSink

__all__ = ["SECONDS", "Trial", "TriedRow", "rows_of", "trial_of"]

SECONDS = 300
"""How long a trial runs at most."""
END_WITHIN = 20
"""Seconds for its Spark to end by itself."""
_running = asyncio.Semaphore(2)


@dataclass(frozen=True, slots=True)
class Trial:
    """A text that can be tried: without its sinks, which would write for real, and what its last query gives."""

    text: str
    columns: tuple[tuple[str, str], ...]
    imports: tuple[Import, ...]


@dataclass(frozen=True, slots=True)
class TriedRow:
    """A row that came or went, with the values of its columns."""

    change: str
    values: tuple[Any, ...]


def trial_of(text: str, directory: Path, resolve: Resolve, variables: Mapping[str, str] | None = None) -> Trial:
    """Return what is run to try a text; raise HeadraceError if it has mistakes or no query."""
    source = fill(text, "trial.sql", {**os.environ, **(variables or {})})
    kept = source.text
    for statement in parse(source):
        if isinstance(statement, CreateSink):
            start, end = statement.span.start, statement.span.end
            kept = kept[:start] + " " * (end - start) + kept[end:]
    imports = resolved(kept, "trial", {}, resolve)
    application = Application(directory=directory, name="trial").reading(imports)
    plan = application.add(fill(kept, "trial.sql", {})).plan
    shown = [output for output in plan.outputs if output.role == "select"]
    if not shown:
        raise HeadraceError("there is no query to try", hint="End the text with a SELECT.")
    fields = shown[-1].relation.fields
    return Trial(kept, tuple((each.name, each.type.sql(dialect=Headrace)) for each in fields), imports)


async def rows_of(trial: Trial, scratch: Path, seconds: int = SECONDS) -> AsyncGenerator[TriedRow, None]:
    """Run a trial and give its rows as they come; only a few run at a time."""
    if _running.locked():
        raise HeadraceError("others are trying queries already", hint="Try again in a moment.", passing=True)
    folder = Path(tempfile.mkdtemp(prefix="trial-", dir=scratch))
    try:
        noted = json.dumps([each.as_dict() for each in trial.imports])
        (folder / "trial.sql.imports").write_text(noted, "utf-8")
        (folder / "trial.sql").write_text(trial.text, "utf-8")
        async with _running, aclosing(_run(trial, folder, seconds)) as rows:
            async for row in rows:
                yield row
    finally:
        await to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))


async def _run(trial: Trial, folder: Path, seconds: int) -> AsyncGenerator[TriedRow, None]:
    arguments = ("run", str(folder / "trial.sql"), "--output", "json", "--changes", "--for", str(seconds))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "headrace.cli.main",
        *arguments,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**22,
    )
    assert process.stdout is not None and process.stderr is not None
    complaints = asyncio.ensure_future(process.stderr.read())
    try:
        async for line in process.stdout:
            row = json.loads(line)
            change = str(row.pop("_change", "insert"))
            yield TriedRow(change, tuple(row.get(name) for name, _ in trial.columns))
        await process.wait()
        if process.returncode:
            raise _complaint((await complaints).decode("utf-8", "replace"))
    finally:
        complaints.cancel()
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), END_WITHIN)
            if process.returncode is None:
                process.kill()


def _complaint(text: str) -> HeadraceError:
    lines = [line for line in text.splitlines() if line.startswith(("error:", "detail:", "hint:"))]
    parts = {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}
    return HeadraceError(parts.get("error", "the query failed"), detail=parts.get("detail"), hint=parts.get("hint"))
