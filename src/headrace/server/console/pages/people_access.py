"""Groups, and the access lists that give or deny something to users and groups."""

from functools import partial

from headrace.server.console.layout import Console
from headrace.server.console.pages.forms import form
from headrace.server.console.parts import Tag, box, button, choice, confirm, empty, field
from headrace.server.console.values.people import Entry

__all__ = ["build_entries", "build_groups"]

KINDS = ["application", "job", "stream", "view"]


async def build_groups(console: Console) -> None:
    """Build the table of groups."""
    place = box("card")

    async def show() -> None:
        groups = await console.backend.groups()
        place.clear()
        with place:
            with box("card-head"):
                Tag("h2", f"{len(groups)} groups", "grow")
                button("Add group", add, kind="small primary", mark="plus")
            if not groups:
                empty("No group", "A group gives several users the same access.", "people")
                return
            with box("scroll-x"), box("table", "table"), box(tag="tbody"):
                for group in groups:
                    with box(tag="tr"):
                        Tag("td", group.name, "name")
                        Tag("td", ", ".join(group.members) or "no members", "muted")
                        with box("right", "td"):
                            button("Delete", partial(delete, group.name), kind="small danger")

    def add() -> None:
        async def go() -> None:
            await console.backend.add_group((named.value or "").strip())
            await show()

        with form("Add group", "Add", go):
            named = field("Name")

    async def delete(name: str) -> None:
        if await confirm(f"Delete group {name}?", "Access that it gives is gone.", "Delete", danger=True):
            await console.backend.delete_group(name)
            await show()

    await show()


async def build_entries(console: Console) -> None:
    """Build the table of access lists."""
    place = box("card")

    async def show() -> None:
        entries = await console.backend.entries()
        place.clear()
        with place:
            with box("card-head"):
                Tag("h2", "Access lists", "grow")
                button("Add line", add, kind="small primary", mark="plus")
            if not entries:
                empty("No line", "Without lines, only roles decide.", "people")
                return
            with box("scroll-x"), box("table", "table"):
                with box(tag="thead"), box(tag="tr"):
                    for head in ("Effect", "Who", "On what", "What", ""):
                        Tag("th", head)
                with box(tag="tbody"):
                    for entry in entries:
                        with box(tag="tr"):
                            with box(tag="td"):
                                tone = "tone-good" if entry.effect == "allow" else "tone-bad"
                                Tag("span", entry.effect.capitalize(), f"state pill {tone}")
                            Tag("td", f"{entry.grantee_kind} {entry.grantee}", "name")
                            Tag("td", f"{entry.kind} {entry.pattern}", "mono")
                            Tag("td", entry.rights)
                            with box("right", "td"):
                                button("Delete", partial(delete, entry.id), kind="small danger")

    def add() -> None:
        async def go() -> None:
            texts = [(each.value or "").strip() for each in (grantee, pattern, rights)]
            made = Entry("", effect.value, whom.value, texts[0], str(kind.value), texts[1], texts[2])
            await console.backend.add_entry(made)
            await show()

        with form("Add a line", "Add", go):
            with box("line"):
                effect = choice(["allow", "deny"], "allow", "Effect").classes("grow")
                whom = choice(["user", "group"], "user", "Whom").classes("grow")
            grantee = field("Name of the user or group")
            with box("line"):
                kind = choice(KINDS, "job", "Kind of object").classes("grow")
                pattern = field("Name, with * and ?", placeholder="fraud-*").classes("grow")
            rights = field("A role, or actions separated by commas", placeholder="operator")

    async def delete(entry: str) -> None:
        if await confirm("Delete this line?", "What it gave or took is gone.", "Delete", danger=True):
            await console.backend.delete_entry(entry)
            await show()

    await show()
