"""Dialogs with fields: what is wrong with them is shown in them."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from headrace.errors import HeadraceError
from headrace.server.console.parts import Tag, box, button, dialog, show_problem

__all__ = ["form", "show_secret"]


@contextmanager
def form(title: str, yes: str, act: Callable[[], Awaitable[Callable[[], None] | None]]) -> Iterator[ui.dialog]:
    """Open a dialog for the fields that are put in.

    ``act`` is done when they are sent, and may refuse; what it returns is called when the dialog is closed.
    """
    with dialog(title) as asked:
        yield asked
        problem = box()

        async def go() -> None:
            problem.clear()
            try:
                then = await act()
            except HeadraceError as error:
                with problem:
                    show_problem(error)
            else:
                asked.close()
                if then is not None:
                    then()

        with box("dialog-actions"):
            button("Cancel", asked.close)
            button(yes, go, kind="primary")


def show_secret(title: str, text: str, why: str) -> None:
    """Show a text that is shown this once, to be copied."""
    with dialog(title) as shown:
        Tag("p", why, "muted")
        with box("line"):
            Tag("code", text, "card grow").style("padding:10px 12px;user-select:all;overflow-wrap:anywhere")
            button("Copy", lambda: ui.clipboard.write(text))
        with box("dialog-actions"):
            button("Close", shown.close, kind="primary")
