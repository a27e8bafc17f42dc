"""A text goes in; a dialog asks under which name, with which values and on how much of the machine it runs."""

from collections.abc import Awaitable, Callable, Mapping

from nicegui import ui

from headrace.errors import HeadraceError
from headrace.language.variables import references
from headrace.server.console.pages.forms import form
from headrace.server.console.parts import Tag, box, field
from headrace.server.console.values.jobs import RunOptions

__all__ = ["ask_submit", "run_options"]


def ask_submit(name: str, text: str, act: Callable[[str, RunOptions], Awaitable[None]]) -> None:
    """Ask how to run a text, and do it; what is wrong with the answers is told in the dialog."""

    async def go() -> None:
        given = {each: entered.value or "" for each, entered in values.items()}
        options = run_options(given, cores.value or "", memory.value or "", master.value or "")
        await act((named.value or "").strip(), options)

    values: dict[str, ui.input] = {}
    with form("Submit application", "Submit", go):
        named = field("Name", name, placeholder="for example fraud").props("autofocus")
        wanted = references(text)
        if wanted:
            Tag("p", "Values for what the text leaves open:", "muted")
        for each, default in wanted.items():
            values[each] = field(
                each, placeholder="needed" if default is None else f"{default} unless you say otherwise"
            )
        with box("line"):
            cores = field("Cores", "1").classes("grow")
            memory = field("Memory in MB", placeholder="the least that suits").classes("grow")
        master = field("Spark master", placeholder="this machine; or spark://host:7077")


def run_options(variables: Mapping[str, str], cores: str, memory: str, master: str) -> RunOptions:
    """Return what the fields of the form say; a variable that is left empty has its default.

    >>> run_options({"REGION": "eu", "DAY": ""}, "2", "", " ")
    RunOptions(variables={'REGION': 'eu'}, cores=2, memory=None, master=None)
    """
    return RunOptions(
        variables={name: value for name, value in variables.items() if value},
        cores=whole_number("cores", cores) or 1,
        memory=whole_number("memory", memory),
        master=master.strip() or None,
    )


def whole_number(what: str, text: str) -> int | None:
    """Return what a field for a number says, None if it is empty."""
    if not text.strip():
        return None
    if not (text.strip().isascii() and text.strip().isdigit()):
        raise HeadraceError(f"{what} is a whole number", hint="Leave the field empty to take what is usual.")
    return int(text)
