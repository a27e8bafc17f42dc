import json
from collections.abc import Callable

from playwright.sync_api import Page, expect

from server.console.conftest import Served

LogIn = Callable[..., Page]

PLACES = """() => [...document.querySelectorAll("[data-job]")].map((row) => {
  const place = ({ x, y, width, height }) => [x, y, width, height];
  return [row.dataset.job, [...row.cells].map((cell) => place(cell.getBoundingClientRect()))];
})"""
RATES = '() => [...document.querySelectorAll("[data-job] td:nth-child(5)")].map((cell) => cell.textContent)'
WATCH = """() => {
  window.moved = [];
  new MutationObserver((all) => all.forEach((m) => {
    const nodes = [...m.addedNodes, ...m.removedNodes];
    if (nodes.some((node) => node.nodeType === 1) || m.target.closest?.(".name")) window.moved.push(m.target.outerHTML);
  })).observe(document.querySelector(".jobs"), { childList: true, subtree: true });
}"""


def test_fifty_jobs_change_in_place(log_in: LogIn, served: Served) -> None:
    page = log_in("victor")
    expect(page.locator("[data-job]")).to_have_count(50)
    places, rates = page.evaluate(PLACES), page.evaluate(RATES)
    page.evaluate(WATCH)
    for _ in range(3):
        before = page.evaluate(RATES)
        served.tick(7)
        page.wait_for_function(f"(before) => JSON.stringify(({RATES})()) !== before", arg=_json(before))
    assert page.evaluate(RATES) != rates
    assert page.evaluate(PLACES) == places
    assert page.evaluate("window.moved") == []


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_rows_stay_where_a_heading_has_put_them(log_in: LogIn, served: Served) -> None:
    page = log_in("victor")
    expect(page.locator("[data-job]")).to_have_count(50)
    page.get_by_role("button", name="Rows/s").click()
    order = "rows => rows.map((row) => row.dataset.job)"
    sorted_names = page.locator("[data-job]").evaluate_all(order)
    assert sorted_names != sorted(sorted_names)
    before = page.evaluate(RATES)
    served.tick(60)
    page.wait_for_function(f"(before) => JSON.stringify(({RATES})()) !== before", arg=_json(before))
    assert page.locator("[data-job]").evaluate_all(order) == sorted_names


def test_tiles_and_the_search_field_filter(log_in: LogIn) -> None:
    page = log_in("victor")
    expect(page.locator("[data-job]")).to_have_count(50)
    page.get_by_role("button", name="Failed").click()
    expect(page.locator("[data-job]")).to_have_count(1)
    expect(page.locator("[data-job]")).to_contain_text("crash loop")
    page.get_by_role("button", name="All jobs").click()
    page.keyboard.press("/")
    page.keyboard.type("fraud")
    expect(page.locator("[data-job]")).to_have_count(5)
    page.keyboard.type(" nothing like this")
    expect(page.get_by_text("No job fits the filter")).to_be_visible()


def test_a_state_is_a_word_and_not_a_colour_only(log_in: LogIn) -> None:
    page = log_in("victor")
    expect(page.locator("[data-job]")).to_have_count(50)
    states = set(page.locator("[data-job] td:nth-child(2)").all_inner_texts())
    assert {"Running", "Failed", "Degraded", "Restarting", "Stopped", "Finished", "Submitted"} <= states
