"""Who may do what to a job, and a form by which its owner allows others something."""

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from headrace.errors import HeadraceError
from headrace.server.console.layout import Console
from headrace.server.console.parts import Tag, box, button, choice, dialog, field, guarded, show_problem
from headrace.server.console.values.people import Entry

__all__ = ["share_job"]

ROLES = ["viewer", "operator", "developer"]


async def share_job(console: Console, name: str) -> None:
    """Open a dialog in which a job is shared, and what was shared is taken back."""
    with dialog(f"Share {name}") as asked:
        Tag("p", "What you allow here counts for this job, its views and its streams.", "muted")
        place = box()
        with box("line"):
            whom = choice(["user", "group"], "user", "Whom").style("width:110px")
            named = field("Name of the user or group").classes("grow")
            role = choice(ROLES, "viewer", "May do what a").style("width:150px")
        problem = box()

        may_restrict = await console.may("manage_access", "job", name)

        async def show() -> None:
            shares = await console.backend.shares(name)
            place.clear()
            with place:
                _restriction(shares.restricted, restrict if may_restrict else None)
                if not shares.entries:
                    nobody = "It is shared with nobody in particular"
                    Tag("p", f"{nobody}." if shares.restricted else f"{nobody}: roles decide.")
                    return
                with box("table", "table"), box(tag="tbody"):
                    for entry in shares.entries:
                        with box(tag="tr"):
                            Tag("td", f"{entry.grantee_kind} {entry.grantee}", "name")
                            Tag("td", f"{entry.effect}: {entry.rights}")
                            with box("right", "td"):
                                if entry.effect == "allow" and entry.pattern == name.lower():
                                    button("Take back", partial(take_back, entry.id), kind="small danger")

        async def restrict(restricted: bool) -> None:
            try:
                await console.backend.restrict(name, restricted=restricted)
            finally:
                await show()

        async def take_back(entry: str) -> None:
            await console.backend.delete_entry(entry)
            await show()

        async def go() -> None:
            problem.clear()
            try:
                made = Entry("", "allow", whom.value, (named.value or "").strip(), "job", name.lower(), str(role.value))
                await console.backend.add_entry(made)
            except HeadraceError as error:
                with problem:
                    show_problem(error)
                return
            named.value = ""
            await show()

        with box("dialog-actions"):
            button("Close", asked.close)
            button("Allow", go, kind="primary")
        await show()


def _restriction(restricted: bool, change: Callable[[bool], Awaitable[None]] | None) -> None:
    """Show whether only a few reach a job, with a switch for those who may change that."""
    if change is not None:
        only = ui.checkbox("Only its owner, admins and those below reach it", value=restricted)
        only.on_value_change(guarded(lambda: change(bool(only.value))))
    elif restricted:
        Tag("p", "It is restricted: only its owner, admins and those below reach it.")
