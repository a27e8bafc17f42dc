"""A broker's folder goes in; what was noted there at its last start comes out, and back."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from headrace.broker.settings import HOST

__all__ = ["State", "read", "write"]


@dataclass(frozen=True, slots=True)
class State:
    """The ports of the last start, the process that answered on them, and where its part of the log begins."""

    port: int
    controller_port: int
    ready: int = 0
    log_from: int = 0

    @property
    def address(self) -> str:
        """Where clients find the broker."""
        return f"{HOST}:{self.port}"


def read(folder: Path) -> State | None:
    """Return what was noted, or None before the first start."""
    try:
        return State(**json.loads((folder / "broker.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # nothing, or nothing of ours: new ports are chosen


def write(folder: Path, state: State) -> None:
    """Note a state, so that a reader sees the old one or the new one."""
    fresh = folder / "broker.json.new"
    fresh.write_text(json.dumps(asdict(state)), "utf-8")
    os.replace(fresh, folder / "broker.json")
