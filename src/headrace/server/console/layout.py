"""The frame around every page: navigation, the field to go anywhere, and what a page gets to work with."""

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from urllib.parse import unquote

from nicegui import ui
from nicegui.element import Element

from headrace.errors import HeadraceError
from headrace.server.access.decisions import Decision
from headrace.server.console.backend import Backend, NotSignedIn
from headrace.server.console.formatting import address
from headrace.server.console.live import Jump
from headrace.server.console.parts import Tag, box, complain, guarded, log, show_problem
from headrace.server.console.theme import LOGO, head_html, icon
from headrace.server.console.values.people import Me, Target

__all__ = ["Console", "Page", "frame", "page"]

PAGES = (
    ("/", "overview", "Overview"),
    ("/editor", "editor", "Editor"),
    ("/views", "views", "Views"),
    ("/catalog", "catalog", "Catalog"),
    ("/dashboards", "dashboards", "Dashboards"),
    ("/alerts", "alerts", "Alerts"),
    ("/people", "people", "People and access"),
)

Page = Callable[..., Awaitable[None]]


@dataclass(slots=True)
class Console:
    """What pages share while a browser shows them: the server, the user, and texts that are not saved yet."""

    backend: Backend
    me: Me
    drafts: dict[str, str] = field(default_factory=dict)

    async def may(self, action: str, kind: str, name: str = "") -> Decision:
        """Say whether the user may do something."""
        return await self.backend.may(action, Target(kind, name))


def page(builder: Page) -> Page:
    """Return a page that shows what went wrong in its own place."""

    @wraps(builder)
    async def build(*args: Any, **kwargs: Any) -> None:
        place = ui.context.slot.parent
        if "name" in kwargs:
            kwargs["name"] = unquote(kwargs["name"])
        try:
            await builder(*args, **kwargs)
        except NotSignedIn as error:
            complain(error)
        except Exception as error:
            if not isinstance(error, HeadraceError):
                log.error("a page of the console failed", exc_info=error)
                error = HeadraceError(
                    "this page cannot be shown",
                    detail="Something went wrong in the server; it was written to its log.",
                    hint="Load the page again; if it stays, look into the log.",
                )
            place.clear()
            with place:
                show_problem(error)

    build.__signature__ = inspect.signature(builder)  # type: ignore[attr-defined]
    return build


def frame(console: Console, routes: dict[str, Page]) -> None:
    """Build the frame and, in it, the page of the current address."""
    ui.add_head_html(head_html())
    ui.run_javascript("headrace.paint()")
    links: dict[str, Element] = {}
    with box("shell"):
        with box("side", "aside"):
            _top(console)
            with box(tag="nav").props('aria-label="Pages"'):
                for to, mark, word in PAGES:
                    links[to] = _link(to, mark, word)
            _foot(console)
        main = box("main").props("tabindex=-1")
        with main:
            ui.sub_pages(dict(routes), data={"console": console})
    ui.skip_link("Skip to the page", target=main)

    def mark_current(path: str) -> None:
        here = path.split("?", maxsplit=1)[0]
        for to, link in links.items():
            below = here.startswith("/jobs/" if to == "/" else to + "/")
            if here == to or below:
                link.props["aria-current"] = "page"
            else:
                link.props.pop("aria-current", None)

    router = ui.context.client.sub_pages_router
    mark_current(router.current_path)
    router.on_path_changed(mark_current)


def _top(console: Console) -> None:
    with box("brand", "a").props('href=/ aria-label="Headrace, overview"'):
        ui.html(LOGO, sanitize=False).style("display:contents")
        Tag("span", "Headrace", "word")
    jump = Jump()

    async def places() -> None:
        found = [{"name": word, "kind": "page", "href": path} for path, _, word in PAGES]
        found += [
            {"name": j.name, "kind": "job", "href": address("jobs", j.name)} for j in await console.backend.jobs()
        ]
        known = await console.backend.catalog()
        times = Counter(each.name for each in known)
        for each in known:
            folder = "views" if each.kind == "materialized view" else "catalog"
            name = each.name if times[each.name] == 1 else each.full_name
            found.append({"name": name, "kind": each.kind, "href": address(folder, each.full_name)})
        for dashboard in await console.backend.dashboards():
            found.append({"name": dashboard.title, "kind": "dashboard", "href": address("dashboards", dashboard.name)})
        jump.put(found)

    jump.on("start", guarded(places))


def _link(to: str, mark: str, word: str) -> Element:
    link = ui.element("a").props(f"href={to}")
    link.props["title"] = word
    with link:
        ui.html(icon(mark), sanitize=False).style("display:contents")
        Tag("span", word, "word")
    return link


def _foot(console: Console) -> None:
    with box("foot"):
        with (
            ui.element("button").classes("side-button").props("type=button title='Change between light and dark'") as it
        ):
            ui.html(icon("theme"), sanitize=False).style("display:contents")
            Tag("span", "System theme", "word").props("data-theme-word")
        it.props["aria-label"] = "Change between light and dark"
        it.on("click", js_handler="() => headrace.toggle()")
        with box("who"):
            Tag("span", console.me.name[:1].upper(), "initial").props("aria-hidden=true")
            with box("names"):
                Tag("div", console.me.name)
                Tag("div", console.me.role, "muted small")
        with (
            ui.element("form").props("method=post action=/logout"),
            ui.element("button").classes("side-button").props("type=submit title='Log out'"),
        ):
            ui.html(icon("leave"), sanitize=False).style("display:contents")
            Tag("span", "Log out", "word")
