"""The name of an application that comes along goes in; it runs for a while on generated rows.

An application is a folder with ``application.sql`` and, if it wants rows, ``generator.py``. The generator
is started with ``--out DIR --port PORT --seconds N``: it writes files into the folder or listens on the port,
ignores what it does not need, and runs until it is stopped or the seconds have passed. The application finds
the same places as ``${DATA}`` and ``${PORT}``. The section "Try next" of its README is printed at the end.

An application over Kafka runs on the embedded broker and names each topic by a variable: ``${BIDS:-bids}`` is the
topic "bids". Its generator is started with ``--bootstrap HOST:PORT --suffix=TEXT`` too: it puts the suffix behind the
names of the topics that the application reads, and makes those of streams last, when those of tables are written.

An application with a ``dashboard.yaml`` runs as a job of a server with a console.
"""

import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from headrace.application import Application
from headrace.cli.demo_stage import set_stage
from headrace.cli.foreground import run_foreground
from headrace.cli.quiet import end_spark
from headrace.cli.signals import terminable
from headrace.cli.variables import variables_of
from headrace.errors import HeadraceError
from headrace.language.mistakes import did_you_mean

__all__ = ["DASHBOARD", "apps_folder", "demos", "list_demos", "run_demo", "summary", "try_next"]

DASHBOARD = "dashboard.yaml"


def apps_folder() -> Path:
    """Return the folder of the applications: beside ``src`` in a checkout, in the package when installed."""
    package = Path(__file__).resolve().parents[1]
    checkout = package.parents[1] / "apps"
    return checkout if checkout.is_dir() else package / "apps"


def demos(folder: Path) -> dict[str, Path]:
    """Return the applications in a folder by name."""
    if not folder.is_dir():
        return {}
    return {each.parent.name: each.parent for each in sorted(folder.glob("*/application.sql"))}


def list_demos(folder: Path | None = None) -> None:
    """Print the applications that can be run."""
    found = demos(folder or apps_folder())
    if not found:
        raise HeadraceError("there are no demos", detail=f"None in {folder or apps_folder()}.")
    width = max(map(len, found))
    for name, path in found.items():
        sys.stdout.write(f"{name:<{width}}  {summary(path)}".rstrip() + "\n")


def summary(path: Path) -> str:
    """Return the first sentence of an application's README."""
    readme = path / "README.md"
    lines = readme.read_text("utf-8").splitlines() if readme.is_file() else []
    paragraph = next((line.strip() for line in lines if line.strip() and not line.startswith("#")), "")
    return re.split(r"(?<=[.!?])\s", paragraph)[0]


def try_next(path: Path) -> str:
    """Return what a user can do after the demo: a section of the README, or a few commands."""
    readme = path / "README.md"
    if readme.is_file():
        found = re.search(
            r"^#+ *try next *$\n(.*?)(?=^#|\Z)",
            readme.read_text("utf-8"),
            re.MULTILINE | re.DOTALL | re.IGNORECASE,
        )
        if found and found[1].strip():
            return found[1].strip()
    file = path / "application.sql"
    return f"headrace explain {file}\nheadrace test {path}\nheadrace demo"


def run_demo(
    name: str,
    seconds: float,
    folder: Path | None = None,
    *,
    console: bool | None = None,
    stay: bool = False,
    port: int | None = None,
) -> None:
    """Run an application with its generator for a while, then say what to try next.

    It runs in the foreground, or with ``console`` as a job; one with a dashboard does so unless told otherwise.
    """
    found = demos(folder or apps_folder())
    path = found.get(name.replace("-", "_")) or found.get(name)
    if path is None:
        hint = did_you_mean(name, found, f"There are: {', '.join(found) or 'none'}.")
        raise HeadraceError(f'there is no demo "{name}"', hint=hint)
    if stay or port is not None or (console is None and (path / DASHBOARD).is_file()):
        console = True
    if console:
        from headrace.cli.demo_console import run_console

        run_console(path, seconds, stay=stay, port=port)
    else:
        with terminable(), ExitStack() as stack:
            _run(path, seconds, stack)
    sys.stdout.write(f"\nTry next\n\n{try_next(path)}\n")


def _run(path: Path, seconds: float, stack: ExitStack) -> None:
    """Run an application; the stack takes what must be ended and deleted after it."""
    scratch = Path(
        stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-demo-", ignore_cleanup_errors=True))
    )
    stage = set_stage(path, seconds, scratch, stack)
    variables = variables_of([f"{name}={value}" for name, value in stage.variables.items()])
    application = Application.load(stage.file, variables, state=f"{scratch}/state")
    application.name = path.name

    def abandon() -> None:
        end_spark()  # first: while it lives it makes its topics and folders anew
        stack.close()

    run_foreground(application, "table", changes=False, fresh=False, seconds=seconds, resumes=False, abandon=abandon)
