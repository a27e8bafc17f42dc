from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.server.services.dashboards import (
    KINDS,
    Dashboard,
    Panel,
    add,
    move,
    parse,
    remove,
    render,
    with_panel,
)

texts = st.text(min_size=1, max_size=40).filter(lambda text: text.strip() and text.isprintable())
queries = st.lists(texts, min_size=1, max_size=4).map("\n".join)


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    kind = draw(st.sampled_from(sorted(KINDS)))
    required = {"bar": {"x"}, "map": {"latitude", "longitude"}}.get(kind, set())
    fields = {
        name: draw(st.lists(texts, max_size=3).map(tuple) if name == "y" else texts)
        for name in KINDS[kind]
        if name in required or draw(st.booleans())
    }
    sizes = {"width": draw(st.integers(1, 12)), "height": draw(st.integers(1, 12))}
    return Panel(kind, draw(texts), draw(queries), **sizes, **fields)


dashboards = st.builds(
    Dashboard,
    texts,
    st.lists(panels(), max_size=5).map(tuple),
    st.integers(500, 10_000_000).map(lambda n: timedelta(milliseconds=n)),
)


@given(dashboards)
def test_what_is_written_is_read_back(dashboard: Dashboard) -> None:
    assert parse(render(dashboard)) == dashboard


@given(st.lists(panels(), min_size=1, max_size=5), st.data())
def test_moving_keeps_every_panel(found: list[Panel], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(found) - 1))
    by = data.draw(st.integers(-7, 7))
    moved = move(Dashboard("d", tuple(found)), place, by).panels
    target = max(0, min(len(found) - 1, place + by))
    assert moved[target] == found[place]
    assert [*moved[:target], *moved[target + 1 :]] == found[:place] + found[place + 1 :]


def test_panels_are_added_replaced_and_removed() -> None:
    one, two, three = (Panel("number", name, "SELECT 1") for name in ("one", "two", "three"))
    dashboard = add(add(Dashboard("d"), one), two)
    assert dashboard.panels == (one, two)
    assert with_panel(dashboard, 0, three).panels == (three, two)
    assert remove(dashboard, 0).panels == (two,)


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("", "the dashboard is empty", None),
        ("- a\n", "the dashboard has fields", 1),
        ("titel: T\n", 'the dashboard has no field "titel"', 1),
        ("panels: []\n", 'the dashboard needs the field "title"', 1),
        ("title: T\ntitle: U\n", 'the field "title" is there twice', 2),
        ("title: [T\n", "the text is no YAML", 1),
        ("title: T\npanels: {a: 1}\n", "panels are a list", 2),
        ("title: T\npanels:\n- 7\n", "a panel has fields", 3),
        ("title: T\npanels:\n- title: A\n  query: B\n", "the panel has no kind", 3),
        ("title: T\npanels:\n- title: A\n  kind: pie\n", 'there is no panel of kind "pie"', 4),
        ("title: T\npanels:\n- {kind: table, title: A}\n", 'a panel of kind table needs the field "query"', 3),
        ("title: T\npanels:\n- {kind: bar, title: A, query: B}\n", 'a panel of kind bar needs the field "x"', 3),
        (
            "title: T\npanels:\n- kind: table\n  title: A\n  query: B\n  unit: m\n",
            'a panel of kind table has no field "unit"',
            6,
        ),
        (
            "title: T\npanels:\n- kind: table\n  title: A\n  query: B\n  width: 13\n",
            'the field "width" is a whole number from 1 to 12',
            6,
        ),
        ("title: T\npanels:\n- kind: table\n  title:\n  query: B\n", 'the field "title" is a text', 4),
        ("title: T\nrefresh: soon\n", '"soon" is no length of time', 2),
        ("title: T\nrefresh: 10 ms\n", "the dashboard refreshes too often", 2),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, message: str, line: int | None) -> None:
    with pytest.raises(HeadraceError) as raised:
        parse(text)
    assert raised.value.message == message
    assert (raised.value.span.line if raised.value.span else None) == line


def test_nothing_but_plain_values_is_made_from_yaml() -> None:
    dashboard = parse("title: !!python/object/apply:os.getcwd []\n".replace(" []", " x"))
    assert dashboard.title == "x"


def test_a_query_of_several_lines_stays_readable() -> None:
    text = render(Dashboard("d", (Panel("table", "t", "SELECT a\nFROM b"),)))
    assert "  query: |-\n    SELECT a\n    FROM b\n" in text
