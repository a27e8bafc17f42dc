"""The YAML of a dashboard goes in, its panels come out, and back; a mistake is shown at its line."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

import yaml

from headrace.connectors.durations import duration_text, parse_duration
from headrace.errors import HeadraceError, Source, Span, shallow
from headrace.plan.scope import did_you_mean

__all__ = ["KINDS", "Dashboard", "Panel", "add", "move", "parse", "remove", "render", "with_panel"]

COLUMNS, TALLEST = 12, 12
SHORTEST_REFRESH = timedelta(milliseconds=500)


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; which fields count depends on its kind. Width is in twelfths of the page, height in lines."""

    kind: str
    title: str
    query: str
    width: int = 6
    height: int = 3
    x: str | None = None
    """Line and bar: the column along the axis; a line without one shows values as they come, over time."""
    y: tuple[str, ...] = ()
    """Line and bar: the columns that are drawn; all that are numbers if there are none."""
    value: str | None = None
    """Number and map: the column that counts; the first number if there is none."""
    unit: str | None = None
    latitude: str | None = None
    longitude: str | None = None
    label: str | None = None
    """Map: the column that names a point."""


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page of panels, in the order in which they are read."""

    title: str
    panels: tuple[Panel, ...] = ()
    refresh: timedelta = timedelta(seconds=2)


_COMMON = ("kind", "title", "query", "width", "height")
KINDS: Mapping[str, tuple[str, ...]] = {
    "line": ("x", "y", "unit"),
    "bar": ("x", "y", "unit"),
    "table": (),
    "number": ("value", "unit"),
    "map": ("latitude", "longitude", "value", "label"),
}
"""The fields of each kind of panel, besides those of all."""
_REQUIRED: Mapping[str, tuple[str, ...]] = {"bar": ("x",), "map": ("latitude", "longitude")}


def parse(text: str, name: str = "dashboard.yaml") -> Dashboard:
    r"""Return the dashboard of a YAML text.

    >>> parse("title: Sales\npanels:\n- {kind: number, title: Total, query: SELECT 1}").panels[0].kind
    'number'
    >>> parse("title: Sales\npanels:\n- {kind: pie, title: Total, query: SELECT 1}")
    Traceback (most recent call last):
    ...
    headrace.errors.HeadraceError: error: there is no panel of kind "pie"
      dashboard.yaml:3:10
      3 | - {kind: pie, title: Total, query: SELECT 1}
                   ^^^
    hint: There are: line, bar, table, number, map.
    """
    return _Reader(Source(name, text)).dashboard()


def render(dashboard: Dashboard) -> str:
    """Return a dashboard as YAML; what was read from it is the same dashboard again.

    >>> print(render(Dashboard("Sales", (Panel("number", "Total", "SELECT 1", width=3),))), end="")
    title: Sales
    refresh: 2 seconds
    panels:
    - kind: number
      title: Total
      query: SELECT 1
      width: 3
    """
    panels = [_plain(panel) for panel in dashboard.panels]
    content = {"title": dashboard.title, "refresh": duration_text(dashboard.refresh), "panels": panels}
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def add(dashboard: Dashboard, panel: Panel) -> Dashboard:
    """Return the dashboard with a panel more, at the end."""
    return replace(dashboard, panels=(*dashboard.panels, panel))


def with_panel(dashboard: Dashboard, place: int, panel: Panel) -> Dashboard:
    """Return the dashboard with another panel at a place."""
    panels = list(dashboard.panels)
    panels[place] = panel
    return replace(dashboard, panels=tuple(panels))


def remove(dashboard: Dashboard, place: int) -> Dashboard:
    """Return the dashboard without the panel at a place."""
    return replace(dashboard, panels=dashboard.panels[:place] + dashboard.panels[place + 1 :])


def move(dashboard: Dashboard, place: int, by: int) -> Dashboard:
    """Return the dashboard with a panel moved; it stops at the ends.

    >>> a, b = Panel("number", "A", "SELECT 1"), Panel("number", "B", "SELECT 2")
    >>> [panel.title for panel in move(Dashboard("D", (a, b)), 0, 5).panels]
    ['B', 'A']
    """
    panels = list(dashboard.panels)
    panel = panels.pop(place)
    panels.insert(max(0, min(len(panels), place + by)), panel)
    return replace(dashboard, panels=tuple(panels))


def _plain(panel: Panel) -> dict[str, Any]:
    """Return the fields of a panel that are not as they are anyway."""
    wanted = (*_COMMON, *KINDS[panel.kind])
    found: dict[str, Any] = {}
    for each in fields(panel):
        value = getattr(panel, each.name)
        if each.name in wanted and (each.name in _COMMON[:3] or value != each.default):
            found[each.name] = list(value) if isinstance(value, tuple) else value
    return found


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, so that a query stays readable."""


def _write_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    # A block cannot hold a space before a line's end, so such a text is quoted.
    block = "\n" in text and not any(line.endswith((" ", "\t")) for line in text.split("\n"))
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


_Dumper.add_representer(str, _write_text)


class _Reader:
    """Reads the nodes of a YAML text, which know their places."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def dashboard(self) -> Dashboard:
        """Return the dashboard."""
        try:
            with shallow("the dashboard"):
                root = yaml.compose(self.source.text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = min(mark.index, max(0, len(self.source.text) - 1)) if mark else 0
            raise HeadraceError(
                "the text is no YAML",
                detail=f"{error.problem or error.context}.",
                span=Span(self.source, place, place + 1),
            ) from None
        except yaml.YAMLError as error:
            raise HeadraceError("the text is no YAML", detail=f"{error}.") from None
        if root is None:
            raise HeadraceError("the dashboard is empty", hint="Begin with a title and panels.")
        found = self.mapping(root, "the dashboard", ("title", "refresh", "panels"), ("title",))
        refresh = self.refresh(found["refresh"]) if "refresh" in found else timedelta(seconds=2)
        return Dashboard(self.text(found["title"], "title"), tuple(self.panels(found.get("panels"))), refresh)

    def panels(self, node: yaml.Node | None) -> list[Panel]:
        if node is None or self.is_null(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.mistake("panels are a list", node, 'Begin each panel with "- ".')
        return [self.panel(each) for each in node.value]

    def panel(self, node: yaml.Node) -> Panel:
        if not isinstance(node, yaml.MappingNode):
            raise self.mistake("a panel has fields", node, "It needs kind, title and query.")
        named = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        if "kind" not in named:
            raise self.mistake("the panel has no kind", node, f"There are: {', '.join(KINDS)}.")
        kind = self.text(named["kind"], "kind")
        if kind not in KINDS:
            raise self.mistake(f'there is no panel of kind "{kind}"', named["kind"], did_you_mean(kind, list(KINDS)))
        known = (*_COMMON, *KINDS[kind])
        found = self.mapping(node, f"a panel of kind {kind}", known, ("title", "query", *_REQUIRED.get(kind, ())))
        return Panel(**{name: self.field(name, value) for name, value in found.items()})

    def field(self, name: str, node: yaml.Node) -> Any:
        if name in {"width", "height"}:
            return self.number(node, name, COLUMNS if name == "width" else TALLEST)
        if name == "y":
            if isinstance(node, yaml.SequenceNode):
                return tuple(self.text(each, name) for each in node.value)
            return (self.text(node, name),)
        return self.text(node, name)

    def mapping(
        self, node: yaml.Node, what: str, known: tuple[str, ...], required: tuple[str, ...]
    ) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self.mistake(f"{what} has fields", node, f"Known are: {', '.join(known)}.")
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            if name not in known:
                raise self.mistake(f'{what} has no field "{name}"', key, did_you_mean(name, list(known)))
            if name in found:
                raise self.mistake(f'the field "{name}" is there twice', key)
            found[name] = value
        for name in required:
            if name not in found:
                raise self.mistake(f'{what} needs the field "{name}"', node)
        return found

    def text(self, node: yaml.Node, name: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or self.is_null(node) or not str(node.value).strip():
            raise self.mistake(f'the field "{name}" is a text', node)
        return str(node.value)

    def number(self, node: yaml.Node, name: str, most: int) -> int:
        text = self.text(node, name)
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
            raise self.mistake(f'the field "{name}" is a whole number from 1 to {most}', node)
        return int(text)

    def refresh(self, node: yaml.Node) -> timedelta:
        text = self.text(node, "refresh")
        found = parse_duration(text)
        if found is None:
            raise self.mistake(f'"{text}" is no length of time', node, "Write it like 2 seconds.")
        if found < SHORTEST_REFRESH:
            raise self.mistake("the dashboard refreshes too often", node, "Take 500 milliseconds or more.")
        return found

    def is_null(self, node: yaml.Node) -> bool:
        return bool(node.tag == "tag:yaml.org,2002:null")

    def mistake(self, message: str, node: yaml.Node, hint: str | None = None) -> HeadraceError:
        start = node.start_mark.index
        end = max(start + 1, min(node.end_mark.index, self._line_end(start)))
        return HeadraceError(message, hint=hint, span=Span(self.source, start, end))

    def _line_end(self, start: int) -> int:
        end = self.source.text.find("\n", start)
        return end if end >= 0 else len(self.source.text)
