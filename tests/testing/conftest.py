"""A toy engine for tests: each line ``count STREAM by COLUMN as VIEW`` of an application is a view."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError, Source, Span


@dataclass
class ToyDriver:
    streams: dict[str, tuple[str, str]]
    clock_at: datetime
    forgetful: bool = False
    counts: dict[str, Counter[Any]] = field(default_factory=dict)
    feed: list[tuple[str, list[dict[str, Any]]]] = field(default_factory=list)
    dead: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    batches: list[Any] = field(default_factory=list)

    def ingest(self, batch: Sequence[tuple[str, Sequence[str]]]) -> None:
        self.calls.append("ingest")
        self.batches.append(batch)
        for stream, lines in batch:
            if stream not in self.streams:
                raise HeadraceError(f'unknown stream "{stream}"')
            view, column = self.streams[stream]
            counts = self.counts.setdefault(view, Counter())
            changes = []
            for line in lines:
                if "explode" in line:
                    raise RuntimeError("a bug in the engine")
                try:
                    key = json.loads(line)[column]
                except ValueError:
                    self.dead.append(line)
                    continue
                if counts[key]:
                    changes.append({column: key, "n": counts[key], "_change": "delete"})
                counts[key] += 1
                changes.append({column: key, "n": counts[key], "_change": "insert"})
            self.feed.append((view, changes))

    def set_clock(self, instant: datetime) -> None:
        self.clock_at = instant

    def drain(self) -> None:
        self.calls.append("drain")

    def crash(self) -> None:
        self.calls.append("crash")

    def stop_and_resume(self) -> None:
        self.calls.append("resume")
        if self.forgetful:
            self.counts.clear()

    def rows(self, name: str) -> list[dict[str, Any]]:
        if name == "clock":
            return [{"at": self.clock_at}]
        if name == "drained":
            return [{"drained": "drain" in self.calls}]
        if name == "dead":
            return [{"raw": line} for line in self.dead]
        columns = dict(self.streams.values())
        if name not in columns:
            raise HeadraceError(f'unknown view "{name}"')
        return [{columns[name]: key, "n": n} for key, n in self.counts.get(name, {}).items()]

    def changes(self, name: str) -> list[list[dict[str, Any]]]:
        seen = [rows for view, rows in self.feed if view == name]
        self.feed = [(view, rows) for view, rows in self.feed if view != name]
        return seen

    def explain(self, name: str) -> str:
        return f"view {name}\n  count   \n"

    def close(self) -> None:
        self.calls.append("close")


@dataclass
class ToyEngine:
    forgetful: bool = False
    opened: list[ToyDriver] = field(default_factory=list)
    asked: list[tuple[Source, Path, tuple[str, ...]]] = field(default_factory=list)

    def open(
        self,
        application: Source,
        *,
        directory: Path,
        relations: Sequence[str],
        clock_at: datetime,
        ingested: Sequence[str] = (),
    ) -> ToyDriver:
        self.asked.append((application, directory, tuple(relations)))
        streams = {}
        offset = 0
        for line in application.text.split("\n"):
            if line.strip():
                words = line.split()
                if words[0] != "count":
                    span = Span(application, offset, offset + len(words[0]))
                    raise HeadraceError(f'unknown word "{words[0]}"', hint='Did you mean "count"?', span=span)
                streams[words[1]] = (words[5], words[3])
            offset += len(line) + 1
        driver = ToyDriver(streams, clock_at, self.forgetful)
        self.opened.append(driver)
        return driver


@pytest.fixture
def engine() -> ToyEngine:
    return ToyEngine()


@pytest.fixture
def forgetful_engine() -> ToyEngine:
    return ToyEngine(forgetful=True)
