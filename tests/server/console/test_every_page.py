"""What holds for every page: texts can be read, the keyboard reaches all that can be pressed, and nothing jumps."""

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from server.console.conftest import Served

LogIn = Callable[..., Page]
JOB = "/jobs/search-totals"
PAGES = {
    "/": "[data-job]",
    JOB: ".topology text",
    f"{JOB}?tab=Figures": ".chart canvas",
    f"{JOB}?tab=Logs": ".logs .entry",
    f"{JOB}?tab=Rows": ".grid .row",
    "/jobs/auctions-quality?tab=Rejected rows": ".grid .row",
    f"{JOB}?tab=Alerts": ".chart canvas",
    f"{JOB}?tab=Versions and savepoints": "tbody tr",
    "/editor?application=fraud": ".topology text",
    "/views": "tbody tr",
    "/views/spending": ".grid .row",
    "/dashboards/fraud": ".grid .row",
    "/catalog": "tbody tr",
    "/catalog/transactions": "dl",
    "/alerts": "tbody tr",
    "/people": "tbody tr",
}
"""Each page, and what is there once it is built."""
FAINT = """() => {
  const paper = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true }), known = {};
  const parts = (text) => known[text] ??= (() => {
    paper.clearRect(0, 0, 1, 1);
    paper.fillStyle = text;
    paper.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paper.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  })();
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const rect = element.closest("g")?.querySelector("rect");
    if (rect) return over(parts(getComputedStyle(rect).fill), behind(element.closest("svg").parentElement));
    const own = parts(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const straight = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * straight(r / 255) + 0.7152 * straight(g / 255) + 0.0722 * straight(b / 255);
  const contrast = (colour, element) => {
    let seen = 1;
    for (let e = element; e; e = e.parentElement) seen *= Number(getComputedStyle(e).opacity);
    const [r, g, b, a] = parts(colour), back = behind(element);
    const [high, low] = [light(over([r, g, b, a * seen], back)), light(back)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const found = new Set();
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e), colours = [];
    if (!e.getClientRects().length || style.visibility === "hidden" || e.closest(".nicegui-skip-link")) continue;
    const written = [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (written) colours.push([e instanceof SVGElement ? style.fill : style.color, e.textContent.trim()]);
    if (e.placeholder && !e.value) colours.push([getComputedStyle(e, "::placeholder").color, e.placeholder]);
    for (const [colour, text] of colours) {
      const value = contrast(colour, e);
      if (value < 4.5) found.add(`${value.toFixed(2)} ${e.tagName}.${e.getAttribute("class")} ${text.slice(0, 30)}`);
    }
  }
  return [...found];
}"""
CONTROLS = """() => {
  const what = "a[href], button, input, select, textarea, [tabindex], [contenteditable=true]";
  const word = (e) => e.getAttribute("aria-label") || e.title || e.textContent || e.className;
  const name = (e) => `${e.tagName} ${word(e).trim().slice(0, 40)}`;
  const shown = (e) => e.tabIndex >= 0 && !e.disabled && e.getClientRects().length;
  window.waiting = new Map([...document.querySelectorAll(what)].filter(shown).map((e) => [e, name(e)]));
  window.unseen = [];
  document.addEventListener("focusin", ({ target }) => {
    waiting.delete(target);
    const ring = (e) => getComputedStyle(e).outline.includes("solid 2px");
    if (![target, target.closest(".q-field__control") ?? target].some(ring)) unseen.push(name(target));
  });
  return waiting.size;
}"""
BOXES = """() => {
  const place = ({ x, y, width }) => [x, y, width];
  const parts = [".head", "h1", ".actions", ".q-tabs", ".tab-place > *", ".topology .box", ".card", ".grid", ".chart"];
  const all = (part) => [...document.querySelectorAll(part)].map((e) => [part, ...place(e.getBoundingClientRect())]);
  return parts.flatMap(all);
}"""


def _opened(page: Page, address: str, sign: str) -> None:
    page.goto(address)
    expect(page.locator(sign).first).to_be_visible()


def test_every_text_can_be_read_and_the_tab_key_reaches_every_control(log_in: LogIn) -> None:
    page = log_in("ada")
    page.emulate_media(reduced_motion="reduce")
    wrong: list[str] = []
    for address, sign in PAGES.items():
        _opened(page, address, sign)
        wrong += [f"{address}: {each}" for each in (*_faint(page, "dark"), *_faint(page, "light"), *_not_reached(page))]
    assert not wrong, "\n".join(wrong)


def _faint(page: Page, scheme: Literal["light", "dark"]) -> list[str]:
    """Return texts whose contrast to what is behind them is below 4.5."""
    page.emulate_media(color_scheme=scheme)
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    return [f"{scheme} {each}" for each in page.evaluate(FAINT)]


def _not_reached(page: Page) -> list[str]:
    """Return controls that the Tab key does not come to, and those that it comes to without a sign of it."""
    for _ in range(page.evaluate(CONTROLS) + 3):
        if "/editor" in page.url:
            page.keyboard.press("Escape")  # in a text the Tab key indents, unless Escape was pressed before
        page.keyboard.press("Tab")
    left: list[str] = page.evaluate(
        "[...[...waiting].filter(([e]) => e.isConnected).map(([, name]) => name), ...unseen]"
    )
    return left


@pytest.mark.parametrize(
    ("address", "buttons"),
    [
        (JOB, ("Stop", "Restart", "Upgrade", "Rebuild", "Share")),
        (f"{JOB}?tab=Versions and savepoints", ("Delete sp-20260301-0400",)),
        ("/people", ("Add user", "Edit olga")),
        ("/dashboards", ("New dashboard",)),
        ("/editor?application=fraud", ("Submit",)),
    ],
)
def test_escape_closes_a_dialog_and_goes_back_to_its_button(
    log_in: LogIn, address: str, buttons: tuple[str, ...]
) -> None:
    page = log_in("ada", address)
    for name in buttons:
        button = page.get_by_role("button", name=name, exact=True)
        button.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(button).to_be_focused()


def test_a_job_stays_where_it_is_while_it_fails_and_comes_back(log_in: LogIn, served: Served) -> None:
    page = log_in("dana")
    for tab in ("Topology", "Figures", "Rows", "Alerts"):
        _opened(page, f"{JOB}?tab={tab}", PAGES[JOB if tab == "Topology" else f"{JOB}?tab={tab}"])
        places = page.evaluate(BOXES)
        for state, reason in (
            ("restarting", "could not reach the broker at 10.1.2.3:9092 within a minute; " * 3),
            ("running", ""),
        ):
            served.become("search-totals", state, reason)
            served.tick(20)
            expect(page.locator(".head .state.pill")).to_have_text(state.capitalize())
            assert page.evaluate(BOXES) == places, (tab, state)
