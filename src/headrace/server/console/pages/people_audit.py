"""The audit log: what was done, page by page, newest first."""

from functools import partial

from headrace.server.console.formatting import instant
from headrace.server.console.layout import Console
from headrace.server.console.parts import box, button, empty, find_field, plain_table
from headrace.server.console.values.people import AuditEntry

__all__ = ["build_audit"]

_HEADS = ("When (UTC)", "Who", "Did", "To", "Outcome", "Details", "From")


async def build_audit(console: Console) -> None:
    """Build the table of what was done."""
    await _AuditLog(console).build()


class _AuditLog:
    """A page of the log, and the way to those around it."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.search = ""
        self.begins: list[int | None] = [None]
        """Where the pages begin up to the one that is shown; the newest has no beginning."""

    async def build(self) -> None:
        """Show the newest entries, and a field to search all of them."""
        with box("line").style("margin-bottom:10px"):
            find_field("Search user, action, object", self.find)
        self.place = box("card")
        await self.show()

    async def find(self, text: str) -> None:
        """Show only entries in which a text occurs."""
        self.search, self.begins = text, [None]
        await self.show()

    async def show(self) -> None:
        """Show the page whose beginning was noted last."""
        found = await self.console.backend.audit(search=self.search, before=self.begins[-1])
        self.place.clear()
        with self.place:
            if found.entries:
                plain_table(_HEADS, [_row(each) for each in found.entries])
            elif found.older is not None:
                empty("Nothing fits so far", "Older entries were not looked through yet.", "people")
            else:
                empty("Nothing fits", "Empty the field above to see all that was done.", "people")
            with box("pages"):
                if len(self.begins) > 1:
                    button("Newer", self.newer, kind="small", mark="left")
                if found.older is not None:
                    button("Older", partial(self.older, found.older), kind="small", mark="right")

    async def newer(self) -> None:
        """Show the page before."""
        self.begins.pop()
        await self.show()

    async def older(self, begins: int) -> None:
        """Show the page behind."""
        self.begins.append(begins)
        await self.show()


def _row(each: AuditEntry) -> tuple[str, ...]:
    return (instant(each.at), each.user, each.action, each.target, each.outcome, each.detail, each.address)
