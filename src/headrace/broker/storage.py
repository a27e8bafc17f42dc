"""A broker's folder goes in; a data folder that Kafka accepts, made once, comes out."""

import os
import shutil
import subprocess
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path

from headrace.broker.settings import properties
from headrace.errors import HeadraceError

__all__ = ["cluster_id", "make", "size"]

_LONGEST_SECONDS = 120


def make(folder: Path, java: Sequence[str], port: int, controller_port: int) -> None:
    """Make the folder ``data`` unless it is there; a half-made one never bears that name."""
    if cluster_id(folder) is not None:
        return
    fresh = folder / "data.new"
    shutil.rmtree(fresh, ignore_errors=True)
    (folder / "format.properties").write_text(properties(port, controller_port, fresh.name), "utf-8")
    tool = ["kafka.tools.StorageTool", "format", "--cluster-id", _new_cluster_id(), "--config", "format.properties"]
    answer = subprocess.run(
        [*java, *tool],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    if answer.returncode != 0:
        said = answer.stdout.decode("utf-8", errors="replace").strip()
        raise HeadraceError("the broker's data folder could not be made", detail=said or "Kafka's tool said nothing.")
    os.replace(fresh, folder / "data")


def cluster_id(folder: Path) -> str | None:
    """Return the name that Kafka knows the data by, or None before the first start."""
    try:
        lines = (folder / "data" / "meta.properties").read_text("utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition("=")[2] for line in lines if line.startswith("cluster.id=")), None)


def size(folder: Path) -> int:
    """Return the bytes that the data takes on the disk; Kafka's indexes are longer than what they hold."""
    total = 0
    for place, _, names in os.walk(folder / "data"):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except FileNotFoundError:
                continue  # Kafka deletes files as it goes
    return total


def _new_cluster_id() -> str:
    """Return a random name as Kafka makes them; its first byte is small, or the name could look like an option."""
    first, *rest = os.urandom(16)
    return urlsafe_b64encode(bytes([first & 0x7F, *rest])).decode("ascii").rstrip("=")
