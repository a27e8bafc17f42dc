from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.testing.discover import discover


def test_files_and_folders(tmp_path: Path) -> None:
    for name in ("b/z.test", "b/a.test", "b/c/d.test", "b/.hidden/e.test", "b/note.txt", "one.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = discover([tmp_path / "one.txt", tmp_path / "b", tmp_path / "b" / "z.test"])
    assert [str(path.relative_to(tmp_path)) for path in found] == [
        "one.txt",
        "b/a.test",
        "b/c/d.test",
        "b/z.test",
    ]


def test_nothing_found(tmp_path: Path) -> None:
    with pytest.raises(HeadraceError, match="no test files in"):
        discover([tmp_path])
    with pytest.raises(HeadraceError, match="there is no file or folder"):
        discover([tmp_path / "none"])
