import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headrace.server.console.pages.views import _View
from headrace.server.console.values.rows import RowPage

LogIn = Callable[..., Page]
MOST = 80
"""More rows than fit on the screen with what is kept ready above and below it, far fewer than 10,000."""


def _rows(page: Page) -> int:
    return page.locator(".grid .row").count()


def test_ten_thousand_rows_scroll_with_few_in_the_page(log_in: LogIn) -> None:
    page = log_in("victor", "/views/spending")
    expect(page.get_by_text("10,000 rows")).to_be_visible()
    expect(page.locator(".grid .row").first).to_contain_text("Okafor")
    grid = page.locator(".grid")
    for part in (0.25, 0.5, 0.9, 1.0):
        grid.evaluate("(grid, part) => (grid.scrollTop = part * grid.scrollHeight)", part)
        expect(page.locator(".grid .row.waiting")).to_have_count(0)
        assert 10 < _rows(page) < MOST
    expect(page.locator('.grid .row[aria-rowindex="10000"] .cell').first).to_have_text("9999")


def test_search_goes_through_all_rows(log_in: LogIn) -> None:
    page = log_in("victor", "/views/spending")
    expect(page.get_by_text("10,000 rows")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("Hana Rossi")
    expect(page.get_by_text("with “Hana Rossi”")).to_be_visible()
    names = page.locator(".grid .row .cell:nth-child(2)")
    expect(names.first).to_have_text("Hana Rossi")
    expect(names.filter(has_not_text="Hana Rossi")).to_have_count(0)
    page.keyboard.press("Control+a")
    page.keyboard.type("nobody is called so")
    expect(page.get_by_text("No row fits.")).to_be_visible()


def test_a_heading_sorts_all_rows_on_the_server(log_in: LogIn) -> None:
    page = log_in("victor", "/views/spending")
    head = page.get_by_role("columnheader", name="account")
    first = page.locator('.grid .row[aria-rowindex="1"] .cell').first
    expect(first).to_have_text("0")
    head.click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(first).to_have_text("9999")


def test_followed_changes_light_up_at_their_row(log_in: LogIn) -> None:
    page = log_in("victor", "/views/spending")
    page.get_by_role("button", name="Follow changes").click()
    expect(page.locator(".grid .row.flash").first).to_be_visible()
    expect(page.get_by_text("changes since you follow")).to_be_visible()
    assert _rows(page) < MOST


def test_a_chart_along_instants_leaves_out_rows_without_one(log_in: LogIn) -> None:
    page = log_in("victor", "/views/spending")
    page.get_by_role("button", name="Chart").click()
    page.get_by_label("Along").click()
    page.get_by_role("option", name="last_at").click()
    expect(page.locator(".chart")).to_have_attribute("aria-description", re.compile(r"^total: .* now$"))
    follow = page.get_by_role("button", name="Follow changes")
    follow.click()
    expect(page.get_by_text(re.compile(r"· (9|\d\d+) changes since you follow"))).to_be_visible()  # three at a time
    expect(follow).to_have_attribute("aria-pressed", "true")


def test_what_ends_by_itself_is_no_longer_followed(log_in: LogIn) -> None:
    page = log_in("victor", "/views/per_country")
    follow = page.get_by_role("button", name="Follow changes")
    follow.click()
    expect(page.locator(".q-notification", has_text="Changes are no longer kept")).to_be_visible()
    expect(follow).to_have_attribute("aria-pressed", "false")


def test_a_query_is_answered_in_a_table_and_a_chart(log_in: LogIn) -> None:
    page = log_in("victor", "/views")
    page.get_by_role("tab", name="Query").click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SELECT country, purchases FROM per_country ORDER BY country")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".grid .row .cell").first).to_have_text("Brazil")
    page.get_by_role("button", name="Chart").click()
    expect(page.locator(".chart canvas")).to_be_visible()


def test_a_query_that_cannot_be_answered_says_why(log_in: LogIn) -> None:
    page = log_in("victor", "/views")
    page.get_by_role("tab", name="Query").click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text("SELECT x FROM nowhere")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert")).to_contain_text("no such table: nowhere")
    expect(page.get_by_role("alert")).to_contain_text("Hint: Views: spending, per_country.")


def test_a_stream_is_looked_into(log_in: LogIn) -> None:
    page = log_in("victor", "/catalog/transactions")
    expect(page.locator(".grid .row")).to_have_count(0)
    look = page.get_by_role("button", name="Look into the stream")
    look.click()
    expect(page.locator(".grid .row").nth(7)).to_be_visible()
    look.click()
    expect(page.get_by_text("Stopped after")).to_be_visible()


@pytest.mark.parametrize(
    ("args", "wanted"), [({"start": -5, "count": -1}, (0, 1)), ({"start": 3, "count": 9e9}, (3, 200))]
)
def test_a_window_has_a_bound_whatever_a_browser_asks_for(args: dict[str, Any], wanted: tuple[int, int]) -> None:
    asked = []

    async def view_rows(name: str, *, offset: int, limit: int, **_: Any) -> RowPage:
        asked.append((offset, limit))
        return RowPage((), (), 0)

    console: Any = SimpleNamespace(backend=SimpleNamespace(view_rows=view_rows))
    view = _View(console, "totals")
    view.grid, view.told = SimpleNamespace(put=lambda *_: None), SimpleNamespace(text="")  # type: ignore[assignment]
    with ThreadPoolExecutor(1) as pool:  # a browser's loop runs in this one
        pool.submit(asyncio.run, view.window(SimpleNamespace(args=args))).result()
    assert asked == [wanted]
