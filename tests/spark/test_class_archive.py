"""The archive of Spark's classes: where it is, what makes it, and what happens when it cannot be made."""

import os
import shlex
import sys
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.spark import class_archive
from headrace.spark.class_archive import archive, java_options, make_archive

WRITES = (
    "import os, shlex; [given] = [each for each in shlex.split(os.environ['SPARK_SUBMIT_OPTS']) if 'Archive' in each]; "
    "open(given.partition('=')[2], 'w').write('classes')"
)
"""A JVM that ends writes where it was told to."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a space in its name, which shares the compiled library alone."""
    home = tmp_path / "my home"
    home.mkdir()
    (home / "operators").symlink_to(Path(os.environ["HEADRACE_HOME"], "operators").resolve())
    monkeypatch.setenv("HEADRACE_HOME", str(home))
    return home


def test_it_is_made_once_and_used_from_then_on(home: Path) -> None:
    assert java_options() == ""
    command = [sys.executable, "-c", WRITES]
    (home / "classes").mkdir()
    (home / "classes" / "of-another-java.jsa").write_text("old")
    assert make_archive(command) is True
    assert archive().read_text() == "classes"
    assert shlex.split(java_options())[0] == f"-XX:SharedArchiveFile={archive()}"
    assert [path.name for path in (home / "classes").glob("*.jsa")] == [archive().name]
    assert make_archive(["no-such-command"]) is False


def test_another_java_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive()
    monkeypatch.setattr(class_archive, "find_java", lambda: Path(sys.executable))
    assert archive() != before


@pytest.mark.parametrize("program", ["print('no memory'); raise SystemExit(1)", "pass"])
def test_nothing_is_left_when_it_cannot_be_made(home: Path, program: str) -> None:
    with pytest.raises(HeadraceError, match="cannot be kept") as caught:
        make_archive([sys.executable, "-c", program])
    assert ("no memory" in str(caught.value.detail)) == ("no memory" in program)
    assert java_options() == ""
