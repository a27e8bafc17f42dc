"""Who may do what on this server, and what was done: each part in its tab."""

from collections.abc import Callable
from typing import Any

from headrace.errors import HeadraceError
from headrace.server.console.layout import Console, page
from headrace.server.console.pages.people_access import build_entries, build_groups
from headrace.server.console.pages.people_audit import build_audit
from headrace.server.console.pages.people_tokens import build_tokens
from headrace.server.console.pages.people_users import build_users
from headrace.server.console.parts import (
    Tabs,
    box,
    button,
    card,
    field,
    page_head,
    say,
    show_problem,
)

__all__ = ["people_page"]


@page
async def people_page(console: Console) -> None:
    """Show who may do what, and what was done."""
    with page_head("People and access", "Who may do what on this server, and what was done"):
        pass
    builders: dict[str, Callable[[], Any]] = {}
    if await console.may("manage_users", "user"):
        builders["Users"] = lambda: build_users(console)
        builders["Groups"] = lambda: build_groups(console)
        builders["Access lists"] = lambda: build_entries(console)
    builders["Tokens"] = lambda: build_tokens(console)
    builders["My account"] = lambda: _account(console)
    if await console.may("read_audit", "system"):
        builders["Audit log"] = lambda: build_audit(console)
    tabs = Tabs(builders)
    await tabs.open(tabs.current)


def _account(console: Console) -> None:
    async def go() -> None:
        problem.clear()
        try:
            if new.value != again.value:
                raise HeadraceError("the new passwords differ", hint="Type the same one twice.")
            await console.backend.change_password(old.value or "", new.value or "")
        except HeadraceError as error:
            with problem:
                show_problem(error)
            return
        for each in (old, new, again):
            each.value = ""
        say("The password is changed")

    with card("Change password"), box("card-body stack").style("max-width:420px"):
        old = field("Old password", password=True)
        new = field("New password", password=True)
        again = field("New password once more", password=True)
        problem = box()
        with box("line"):
            button("Change it", go, kind="primary")
