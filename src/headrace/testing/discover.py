"""Paths of files and folders go in; the paths of their test files come out."""

from collections.abc import Sequence
from pathlib import Path

from headrace.errors import HeadraceError

__all__ = ["discover"]


def discover(paths: Sequence[Path]) -> list[Path]:
    """Return the files named, and every ``*.test`` below the folders named, sorted, each once.

    Hidden folders below a folder are left out, so that ``headrace test .`` does not enter ``.venv``.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            below = sorted(file for file in path.rglob("*.test") if file.is_file())
            found.update((file, None) for file in below if not _is_hidden(file.relative_to(path)))
        elif path.exists():
            found[path] = None
        else:
            raise HeadraceError(f"there is no file or folder {path}")
    if not found:
        raise HeadraceError(
            f"no test files in {', '.join(map(str, paths)) or 'no paths'}", hint="Their names end in .test."
        )
    return list(found)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)
