"""What the documentation shows is true: its commands are run, its programs executed, its SQL planned."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace import Application
from headrace.errors import HeadraceError, Source
from headrace.language import parse
from headrace.testing.files import parse_file

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = sorted(
    path for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md", "apps/*/README.md") for path in ROOT.glob(pattern)
)
FENCE = re.compile(r"^```(?P<kind>\S*)[ ]?(?P<note>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
FIRST_SCREEN = 45

RUN_ELSEWHERE = ("make demo", "make test")
"""Commands that this suite is a part of, or that run for a minute: their targets must exist."""


def blocks(text, kind, note=""):
    return [found["body"] for found in FENCE.finditer(text) if (found["kind"], found["note"]) == (kind, note)]


@dataclass(frozen=True)
class Command:
    line: str
    output: str

    @property
    def starts_spark(self):
        return self.line.startswith(("headrace run", "headrace test"))


def commands(text):
    found = []
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            found.append(Command(line.strip(), output))
    return found


def pattern(output):
    """Return a pattern for an output: ``...`` is any part of a line, or any lines if it stands alone."""
    lines = [
        r"(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n"
        for line in output.splitlines()
    ]
    return "".join(lines)


SHOWN = [each for each in commands(README) if each.line not in RUN_ELSEWHERE]


@pytest.fixture
def copy(tmp_path, monkeypatch):
    examples = Path("docs") / "examples"
    shutil.copytree(ROOT / examples, tmp_path / examples, ignore=shutil.ignore_patterns(".headrace"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, id=c.line, marks=[pytest.mark.spark] if c.starts_spark else []) for c in SHOWN],
)
def test_command_prints_what_the_readme_shows(command, copy):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        shlex.split(command.line),
        cwd=copy,
        env={**os.environ, "PATH": path, "COLUMNS": "120"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
        check=False,
    )
    assert re.fullmatch(pattern(command.output), ran.stdout), ran.stdout
    assert ran.returncode == int(command.output.startswith("error:"))


def test_commands_that_run_elsewhere_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    shown = {command.line for command in commands(README)}
    for line in RUN_ELSEWHERE:
        assert line in shown
        assert re.search(rf"^{line.removeprefix('make ')}:", makefile, re.MULTILINE)


@pytest.mark.spark
@pytest.mark.parametrize("program", blocks(README, "python"), ids=["python"])
def test_program_runs(program, copy, engine):
    exec(compile(program, "README.md", "exec"), {})


def test_first_screen_says_it_all():
    first = "\n".join(README.splitlines()[:FIRST_SCREEN])
    assert all(line in first for line in RUN_ELSEWHERE)
    assert SHOWN[0].line in first
    assert SHOWN[0].output in first
    assert blocks(README, "sql") == [(ROOT / "docs" / "examples" / "first.sql").read_text("utf-8")]


def test_sql_of_the_language_page_is_planned_as_one_application():
    page = (ROOT / "docs" / "language.md").read_text("utf-8")
    application = Application(directory=ROOT / "docs" / "examples")
    for block in blocks(page, "sql"):
        application.sql(block)
    for block in blocks(page, "sql", "refused"):
        for statement in parse(Source("language.md", block)):
            with pytest.raises(HeadraceError, match="is not supported yet"):
                application.sql(statement.span.text)


def test_sql_of_the_page_of_patterns_is_planned_as_one_application():
    application = Application(directory=ROOT / "docs" / "examples")
    for block in blocks((ROOT / "docs" / "patterns.md").read_text("utf-8"), "sql"):
        application.sql(block)
    assert {"small_then_large", "unconfirmed"} <= application.plan.views.keys()


def test_examples_of_the_test_page_are_test_files():
    page = (ROOT / "docs" / "test-files.md").read_text("utf-8")
    examples = blocks(page, "test")
    assert examples
    for example in examples:
        assert parse_file(Source("example.test", example)).cases


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_decision_records_are_short():
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert records
    for record in records:
        text = record.read_text("utf-8")
        assert len(text.splitlines()) < 30, record.name
        assert re.findall(r"^## (\w+)", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
        assert re.fullmatch(r"\d{8}_\w+", record.stem)
