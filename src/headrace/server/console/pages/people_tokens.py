"""Tokens with which programs and the command line log in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from headrace.server.console.formatting import ago, instant, until
from headrace.server.console.layout import Console
from headrace.server.console.pages.forms import form, show_secret
from headrace.server.console.pages.people_users import ROLES
from headrace.server.console.parts import Tag, box, button, choice, confirm, empty, field

__all__ = ["build_tokens"]

LIFETIMES = {"30": "30 days", "90": "90 days", "366": "A year, the longest"}


async def build_tokens(console: Console) -> None:
    """Build the table of tokens."""
    place = box("card")

    async def show() -> None:
        tokens = await console.backend.tokens()
        now = datetime.now(UTC)
        place.clear()
        with place:
            with box("card-head"):
                Tag("h2", "Tokens for programs and the command line", "grow")
                button("New token", add, kind="small primary", mark="plus")
            if not tokens:
                empty("No token", "A program logs in with a token instead of a password.", "people")
                return
            with box("scroll-x"), box("table", "table"):
                with box(tag="thead"), box(tag="tr"):
                    for head in ("Name", "Owner", "Role", "Made", "Last used", "Ends", ""):
                        Tag("th", head)
                with box(tag="tbody"):
                    for token in tokens:
                        with box(tag="tr"):
                            Tag("td", token.name, "name")
                            Tag("td", token.owner)
                            Tag("td", token.role)
                            Tag("td", instant(token.made_at), "muted number")
                            Tag("td", ago(token.last_used_at, now), "muted")
                            Tag("td", until(token.expires_at, now), "muted")
                            with box("right", "td"):
                                button("Revoke", partial(revoke, token.id, token.name), kind="small danger")

    def add() -> None:
        async def go() -> Callable[[], None]:
            ends = timedelta(days=int(str(lifetime.value)))
            made = await console.backend.add_token((named.value or "").strip(), str(role.value), ends)
            await show()
            return partial(show_secret, "New token", made.secret, "Copy it now. It is shown this once.")

        with form("New token", "Make it", go):
            named = field("Name", placeholder="for example: nightly deployment")
            most = ROLES.index(console.me.role) + 1 if console.me.role in ROLES else 1
            role = choice(ROLES[:most], ROLES[most - 1], "It may no more than")
            lifetime = choice(LIFETIMES, "90", "Ends after")

    async def revoke(token: str, name: str) -> None:
        if await confirm(f"Revoke {name}?", "Programs that use it can no longer log in.", "Revoke", danger=True):
            await console.backend.revoke_token(token)
            await show()

    await show()
