"""Users: added, changed, disabled, and given new passwords."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from nicegui import ui

from headrace.server.console.formatting import ago
from headrace.server.console.layout import Console
from headrace.server.console.pages.forms import form, show_secret
from headrace.server.console.parts import Tag, box, button, choice, confirm, field, say
from headrace.server.console.values.people import User

__all__ = ["ROLES", "build_users"]

ROLES = ["viewer", "operator", "developer", "admin"]


async def build_users(console: Console) -> None:
    """Build the table of users."""
    await _Users(console).show()


class _Users:
    """The table of users and its dialogs."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.place = box("card")

    async def show(self) -> None:
        """Show users as they are now."""
        users = await self.console.backend.users()
        groups = [each.name for each in await self.console.backend.groups()]
        self.place.clear()
        with self.place:
            with box("card-head"):
                Tag("h2", f"{len(users)} users", "grow")
                button("Add user", self.add, kind="small primary", mark="plus")
            with box("scroll-x"), box("table", "table"):
                with box(tag="thead"), box(tag="tr"):
                    for head in ("Name", "Role", "Groups", "Last seen", "State", ""):
                        Tag("th", head)
                with box(tag="tbody"):
                    for user in users:
                        self._row(user, groups)

    def _row(self, user: User, groups: Sequence[str]) -> None:
        row = box(tag="tr")
        row.props["data-user"] = user.name
        with row:
            Tag("td", user.name, "name")
            Tag("td", user.role)
            Tag("td", ", ".join(user.groups), "muted")
            Tag("td", ago(user.last_seen_at, datetime.now(UTC)), "muted")
            with box(tag="td"):
                word, tone = ("Active", "tone-good") if user.active else ("Disabled", "tone-idle")
                Tag("span", word, f"state {tone}")
            with box("right", "td"):
                button("Edit", lambda: self.edit(user, groups), kind="small", title=f"Edit {user.name}")

    def add(self) -> None:
        """Ask for a new user."""

        async def go() -> Callable[[], None]:
            name = (named.value or "").strip()
            password = await self.console.backend.add_user(name, str(role.value))
            await self.show()
            why = f"Give it to {name}. It is shown this once."
            return partial(show_secret, "First password", password, why)

        with form("Add user", "Add", go):
            named = field("Name")
            role = choice(ROLES, "viewer", "Role")

    def edit(self, user: User, groups: Sequence[str]) -> None:
        """Ask for changes of a user."""

        async def go() -> None:
            await self.console.backend.change_user(
                user.name, role=str(role.value), active=bool(active.value), groups=list(member.value or [])
            )
            say(f"Changed {user.name}")
            await self.show()

        async def reset() -> None:
            if await confirm(f"Give {user.name} a new password?", "The old one no longer works.", "New password"):
                password = await self.console.backend.reset_password(user.name)
                why = f"Give it to {user.name}. It is shown this once."
                show_secret("New password", password, why)

        async def delete() -> None:
            text = "Tokens, sessions and lines in access lists go too; what the user owns is nobody's then."
            if await confirm(f"Delete {user.name}?", text, "Delete for good", danger=True):
                await self.console.backend.delete_user(user.name)
                asked.close()
                say(f"Deleted {user.name}")
                await self.show()

        with form(f"Edit {user.name}", "Save", go) as asked:
            role = choice(ROLES, user.role, "Role")
            member = ui.select(list(groups), value=list(user.groups), label="Groups", multiple=True)
            member.props("outlined dense use-chips")
            active = ui.switch("May log in", value=user.active)
            with box("line"):
                button("New password", reset, kind="small")
                button("Delete user", delete, kind="small danger")
