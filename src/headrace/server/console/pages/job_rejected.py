"""Rows that a job did not use: those that came late and the dead ones, each with the reason, or how many."""

from collections.abc import Sequence

from headrace.server.console.formatting import count, instant
from headrace.server.console.layout import Console
from headrace.server.console.live import RowGrid
from headrace.server.console.parts import Tag, box, button, card, empty, plain_table
from headrace.server.console.values.rows import Column
from headrace.server.services.rejected import RejectedRow, RejectedRows

__all__ = ["build_rejected"]

_COLUMNS = tuple(Column(name, "STRING") for name in ("stream", "reason", "where", "record"))


async def build_rejected(console: Console, name: str) -> None:
    """Build the tables of rejected rows."""
    place = box("stack")

    async def show() -> None:
        found = await console.backend.rejected(name)
        place.clear()
        with place:
            with box("line"):
                Tag("p", "Rows that were read and not used, since the job was last started.", "muted grow")
                button("Refresh", show, kind="small", mark="restart")
            _late(found)
            _dead(found)

    await show()


def _late(found: RejectedRows) -> None:
    total = sum(each.rows for each in found.late)
    with card(f"Late: behind the watermark · {count(max(total, len(found.late_rows)))}"):
        if not total and not found.late_rows:
            empty("No row came too late", "Rows behind the watermark would stand here.", "check")
            return
        if total:
            rows = [(each.output, count(each.rows), instant(each.watermark_at)) for each in found.late if each.rows]
            plain_table(("Output", "Not taken", "Watermark (UTC)"), rows, right=(1,))
        if found.late_rows:
            _table(found.late_rows)
        with box("card-body muted"):
            Tag("p", "They came when the watermark had passed their time. If they are too many, raise its delay: ")
            Tag("code", "WATERMARK FOR at AS at - INTERVAL 1 MINUTE")
            if total and found.forgotten:
                Tag("p", "To keep them and see them here, add to the stream's options: ").style("margin-top:4px")
                Tag("code", f"late = 'keep'  -- {', '.join(found.forgotten)}")


def _dead(found: RejectedRows) -> None:
    unkept = sum(number for _, number in found.unkept)
    with card(f"Dead: could not be read · {count(len(found.dead) + unkept)}"):
        if not found.dead and not unkept:
            empty("Every row could be read", "Records that do not parse would stand here.", "check")
            return
        if found.dead:
            _table(found.dead)
        for stream, number in found.unkept:
            with box("card-body muted"):
                Tag("p", f"{count(number)} records of {stream} could not be read. To keep them and see why, add:")
                Tag("code", f"CREATE MATERIALIZED VIEW {stream}_dead AS SELECT * FROM {stream}.dead;")


def _table(found: Sequence[RejectedRow]) -> None:
    height = min(360, 36 + 30 * len(found) + 4)
    grid = RowGrid().style(f"height:{height}px;border:0")
    grid.fill(_COLUMNS, [(each.stream, each.reason, each.position, each.record) for each in found])
