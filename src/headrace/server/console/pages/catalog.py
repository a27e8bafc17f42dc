"""The catalog: every stream, table, view and sink, what it is made of, and its rows as they come."""

from collections.abc import Sequence

from headrace.errors import HeadraceError
from headrace.server.console.formatting import address, count
from headrace.server.console.layout import Console, page
from headrace.server.console.live import RowGrid
from headrace.server.console.parts import Follower, Tag, box, button, card, empty, find_field, page_head, plain_table
from headrace.server.console.values.rows import CatalogObject, RowBatch

__all__ = ["catalog_page", "object_page"]


@page
async def catalog_page(console: Console) -> None:
    """Show every object, with a filter."""
    found = await console.backend.catalog()

    def show(text: str = "") -> None:
        words = text.lower().split()
        fit = [each for each in found if all(word in _text(each) for word in words)]
        place.clear()
        with place:
            _list(fit, none_at_all=not found)

    with page_head("Catalog", "Streams, tables, views and sinks that applications have named"):
        find_field("Filter by name, kind, column", show)
    place = box("card")
    show()


def _text(each: CatalogObject) -> str:
    columns = " ".join(column.name for column in each.columns)
    return f"{each.name} {each.kind} {each.connector} {each.job} {columns}".lower()


def _list(found: Sequence[CatalogObject], *, none_at_all: bool) -> None:
    if not found:
        if none_at_all:
            empty("Nothing has a name yet", "Submit an application with CREATE STREAM or CREATE VIEW.", "catalog")
        else:
            empty("Nothing fits the filter", "Empty the field above to see everything.", "catalog")
        return
    with box("scroll-x"), box("table", "table"):
        with box(tag="thead"), box(tag="tr"):
            for head in ("Name", "Kind", "Connector", "Columns", "Job"):
                Tag("th", head)
        with box(tag="tbody"):
            for each in found:
                with box(tag="tr"):
                    with box("name", "td"):
                        Tag("a", each.name).props["href"] = address("catalog", each.full_name)
                    with box(tag="td"):
                        Tag("span", each.kind, "tag")
                    Tag("td", each.connector, "muted")
                    Tag("td", ", ".join(column.name for column in each.columns), "muted")
                    with box(tag="td"):
                        if each.job:
                            Tag("a", each.job).props["href"] = address("jobs", each.job)


@page
async def object_page(console: Console, name: str) -> None:
    """Show one object and, if it can be looked into, its rows as they come."""
    found = [each for each in await console.backend.catalog() if name in {each.name, each.full_name}]
    if not found:
        raise HeadraceError(f'there is no "{name}" in the catalog', hint="The catalog shows all names.")
    if len(found) > 1:
        names = " and ".join(each.full_name for each in found)
        raise HeadraceError(f'several jobs have "{name}"', hint=f"Choose one in the catalog: {names}.")
    [each] = found
    may_tap = await console.may("tap", "stream", each.full_name)
    with page_head(each.name, each.kind.capitalize()):
        if each.kind == "materialized view":
            link = Tag("a", "Open rows", "btn primary")
            link.props["href"] = address("views", each.full_name)
    with box("columns-2"):
        with card("Columns"):
            plain_table(("Column", "Type"), [(column.name, column.type) for column in each.columns])
        with card("About"), box("card-body"), box("facts", "dl"):
            _fact("Job", each.job or "", address("jobs", each.job) if each.job else "")
            _fact("Application", each.application or "", f"/editor?application={each.application}")
            _fact("Connector", each.connector)
            _fact("Watermark", each.watermark)
            _fact("Used by", ", ".join(each.used_by))
            for option, value in each.options:
                _fact(option, value)
    if each.kind in {"stream", "table", "sink"} and may_tap:
        _tap(console, each.full_name, each.kind)


def _fact(term: str, text: str, to: str = "") -> None:
    if not text:
        return
    Tag("dt", term)
    with box(tag="dd"):
        if to:
            Tag("a", text).props["href"] = to
        else:
            Tag("span", text)


def _tap(console: Console, name: str, kind: str) -> None:
    seen = 0
    follower = Follower()

    def take(batch: RowBatch) -> None:
        nonlocal seen
        seen += len(batch.rows)
        told.text = f"{count(seen)} rows seen; the newest are on top"
        grid.prepend(batch.columns, batch.rows, limit=500)

    def ended() -> None:
        told.text = f"Stopped after {count(seen)} rows"
        look.props["aria-pressed"] = "false"

    def toggle() -> None:
        if follower.running:
            follower.stop()
            ended()
            return
        told.text = "Waiting for rows…"
        look.props["aria-pressed"] = "true"
        with grid:
            follower.start(console.backend.tap(name), take, ended)

    with box("card").style("margin-top:16px"):
        with box("card-head"):
            Tag("h2", "Rows as they come")
            told = Tag("span", "Nothing runs until you look.", "muted grow").style("font-weight:400")
            look = button(f"Look into the {kind}", toggle, kind="small", mark="play")
        grid = RowGrid(none="No row yet.").style("height:380px;border:0")
