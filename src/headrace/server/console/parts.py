"""Pieces that pages are put together from: buttons, cards, states, problems and empty places."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import wraps
from html import escape
from inspect import iscoroutine
from typing import Any, ParamSpec, TypeVar, cast

from nicegui import background_tasks, ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement

from headrace.errors import HeadraceError
from headrace.server.access.decisions import Decision
from headrace.server.console.backend import NotSignedIn
from headrace.server.console.theme import icon, tone_of_state
from headrace.server.services.language import Diagnostic

__all__ = [
    "Follower",
    "Tabs",
    "Tag",
    "box",
    "button",
    "card",
    "choice",
    "confirm",
    "dialog",
    "empty",
    "field",
    "find_field",
    "guarded",
    "not_allowed",
    "page_head",
    "plain_table",
    "problem_html",
    "say",
    "set_state",
    "show_problem",
    "state_pill",
]

log = logging.getLogger(__name__)
Handler = Callable[[], Any]
P = ParamSpec("P")
T = TypeVar("T")


class Tag(TextElement):
    """An element of plain HTML with a text."""

    def __init__(self, tag: str, text: str = "", classes: str = "") -> None:
        super().__init__(tag=tag, text=text)
        self.classes(classes)


def box(classes: str = "", tag: str = "div") -> Element:
    """Return an empty element to put others into."""
    return ui.element(tag).classes(classes)


def button(
    text: str,
    on_click: Handler | None = None,
    *,
    kind: str = "",
    mark: str = "",
    title: str = "",
) -> Element:
    """Return a button. What the user may not do gets none, so there is nothing to disable."""
    element = ui.element("button").classes(f"btn {kind}")
    element.props["type"] = "button"
    with element:
        if mark:
            ui.html(icon(mark), sanitize=False, tag="span").style("display:contents")
        if text:
            Tag("span", text)
    if title:
        element.props["title"] = title
        element.props["aria-label"] = title if text in title else text
    if on_click is not None:
        element.on("click", guarded(on_click))
    return element


def not_allowed(decision: Decision) -> Tag:
    """Say why there is no button."""
    return Tag("span", f"Look only: {decision.reason}.", "muted small")


def find_field(placeholder: str, on_change: Callable[[str], Any]) -> Element:
    """Return a search field, which ``/`` goes to."""
    with box("find") as outer:
        entered = ui.element("input").props("type=search data-search autocomplete=off")
        entered.props["placeholder"] = placeholder
        entered.props["aria-label"] = placeholder
        entered.on(
            "input",
            guarded(lambda event: on_change(str(event.args))),
            js_handler="(event) => emit(event.target.value)",
            throttle=0.2,
            leading_events=False,
        )
        Tag("kbd", "/")
    return outer


class Tabs:
    """Tabs whose contents are built when they are opened, and taken down when they are left."""

    def __init__(self, builders: dict[str, Callable[[], Any]], first: str = "") -> None:
        self.builders = builders
        self.current = first if first in builders else next(iter(builders))
        heads = ui.tabs(on_change=lambda event: self.open(str(event.value)))
        heads.props("dense no-caps indicator-color=primary")
        self.heads = heads
        with heads:
            for name in builders:
                ui.tab(name)
        self.place = box("tab-place")

    async def open(self, name: str) -> None:
        """Show one tab."""
        self.current = name
        if self.heads.value != name:
            self.heads.value = name
            return
        self.place.clear()
        with self.place:
            await guarded(self.builders[name])()


@contextmanager
def card(title: str = "", classes: str = "") -> Iterator[Element]:
    """Open a card with a heading; what is put in it stands below."""
    with box(f"card {classes}") as outer:
        if title:
            with box("card-head"):
                Tag("h2", title, "grow")
        yield outer


def state_pill(state: str) -> Tag:
    """Show a job's state as a word in its colour."""
    return Tag("span", state.capitalize(), f"state pill {tone_of_state(state)}")


def set_state(pill: Tag, state: str) -> None:
    """Change a state that is shown."""
    if pill.text != state.capitalize():
        pill.text = state.capitalize()
        pill.classes(replace=f"state pill {tone_of_state(state)}")


@contextmanager
def page_head(title: str, under: str = "") -> Iterator[None]:
    """Show a page's heading; what is put in stands on its right."""
    ui.page_title(f"{title} · Headrace")
    with box("head"):
        with box():
            Tag("h1", title)
            if under:
                Tag("p", under, "under")
        with box("actions"):
            yield


def empty(what: str, next_step: str, mark: str = "overview") -> Element:
    """Show that there is nothing, and what to do about it."""
    with box("empty") as outer:
        ui.html(icon(mark), sanitize=False)
        Tag("div", what, "what")
        Tag("p", next_step)
    return outer


def problem_html(error: HeadraceError | Diagnostic, place: str = "") -> str:
    """Return an error as message, detail and hint.

    >>> problem_html(HeadraceError("no such job", hint="Look at the overview."))
    '<div class="message">no such job</div><div class="hint"><b>Hint:</b> Look at the overview.</div>'
    """
    parts = [f'<div class="message">{escape(error.message)}</div>']
    if place:
        parts.append(f'<div class="place">{escape(place)}</div>')
    if error.detail:
        parts.append(f"<div>{escape(error.detail)}</div>")
    if error.hint:
        parts.append(f'<div class="hint"><b>Hint:</b> {escape(error.hint)}</div>')
    return "".join(parts)


def show_problem(error: HeadraceError | Diagnostic, place: str = "", *, warning: bool = False) -> Element:
    """Show an error where it happened."""
    outer = ui.html(problem_html(error, place), sanitize=False)
    return outer.classes("problem warning" if warning else "problem").props("role=alert")


def say(text: str) -> None:
    """Tell that something was done."""
    ui.notify(text, type="positive", position="bottom-right", timeout=3500)


def complain(error: BaseException) -> None:
    """Tell what went wrong: a user's mistake in its own words, a bug without its innards."""
    if isinstance(error, NotSignedIn):
        ui.run_javascript("location.reload()")
        return
    if not isinstance(error, HeadraceError):
        log.error("a page of the console failed", exc_info=error)
        error = HeadraceError(
            "something went wrong in the server",
            detail="It was written to the server's log.",
            hint="Try again; if it stays, look into the log.",
        )
    text = " ".join(part for part in (error.detail, f"Hint: {error.hint}" if error.hint else None) if part)
    ui.notify(
        error.message[:1].upper() + error.message[1:],
        caption=text,
        type="negative",
        position="bottom-right",
        timeout=9000,
        close_button="Close",
        multi_line=True,
    )


def guarded(handler: Callable[P, Any]) -> Callable[P, Awaitable[None]]:
    """Return a handler that tells the user what went wrong and never shows a stack trace."""

    @wraps(handler)
    async def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            result = handler(*args, **kwargs)
            # A dialog can be awaited too, which opens it: closing one returns it.
            if iscoroutine(result):
                await result
        except Exception as error:
            complain(error)

    return run


def field(label: str, value: str = "", *, password: bool = False, placeholder: str = "") -> ui.input:
    """Return a text field with its label, which stands above where an example would show through it."""
    look = "outlined dense stack-label" if placeholder else "outlined dense"
    return ui.input(label, value=value, password=password, placeholder=placeholder).props(look)


def choice(options: Sequence[str] | dict[str, str], value: str | None, label: str = "") -> ui.select:
    """Return a field to choose one of a few."""
    given = options if isinstance(options, dict) else list(options)
    return ui.select(given, value=value, label=label or None).props("outlined dense options-dense")


@contextmanager
def dialog(title: str) -> Iterator[ui.dialog]:
    """Open a dialog; it is deleted when it is closed."""
    # Not where the button stands: that place may be built anew while the dialog is open.
    with ui.context.client.content, ui.dialog() as outer, box("card"):
        Tag("h2", title)
        yield outer
    outer.on("hide", outer.delete)
    outer.open()


async def confirm(title: str, text: str, yes: str, *, danger: bool = False) -> bool:
    """Ask a question; return whether the answer was yes."""
    with ui.context.client.content, ui.dialog() as outer, box("card"):
        Tag("h2", title)
        Tag("p", text)
        with box("dialog-actions"):
            button("Cancel", lambda: outer.submit(False))
            button(yes, lambda: outer.submit(True), kind="danger" if danger else "primary")
    # Not before it has closed: only then does the focus go back to where it was.
    outer.on("hide", outer.delete)
    return bool(await outer)


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Element:
    """Show a few rows of text in a table."""
    with box("scroll-x") as outer, box("table", "table"):
        with box(tag="thead"), box(tag="tr"):
            for number, head in enumerate(heads):
                Tag("th", head, "right" if number in right else "")
        with box(tag="tbody"):
            for row in rows:
                with box(tag="tr"):
                    for number, text in enumerate(row):
                        Tag("td", text, "right" if number in right else "")
    return outer


class _Leaving(Element):
    """Calls when the page that it stands on is left."""

    def __init__(self, call: Handler) -> None:
        super().__init__()
        self.style("display:none")
        self._call = call

    def _handle_delete(self) -> None:
        self._call()
        super()._handle_delete()


class Follower:
    """Something that is followed as it happens, until it is stopped or the page is left."""

    def __init__(self) -> None:
        self._task: Any = None
        _Leaving(self.stop)

    @property
    def running(self) -> bool:
        """Whether there is something to follow."""
        return self._task is not None and not self._task.done()

    def start(self, source: AsyncIterator[T], take: Callable[[T], Any], on_end: Handler | None = None) -> None:
        """Hand on what a source gives; a source that was followed before is closed."""
        self.stop()
        place = ui.context.slot.parent

        async def follow() -> None:
            try:
                async with aclosing(cast("Any", source)) as closing:
                    async for item in closing:
                        if place.is_deleted:
                            return
                        with place:
                            result = take(item)
                            if iscoroutine(result):
                                await result
            except Exception as error:
                if not place.is_deleted:
                    with place:
                        complain(error)
            if on_end is not None and not place.is_deleted:
                with place:
                    on_end()

        self._task = background_tasks.create(follow(), name="follow")

    def stop(self) -> None:
        """Follow no longer."""
        if self.running:
            self._task.cancel()
        self._task = None
