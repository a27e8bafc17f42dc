import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from server.conftest import PATIENCE
from server.console.conftest import Served

LogIn = Callable[..., Page]

CONTRAST = """() => {
  const straight = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map((v) => straight(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      if (!/, 0\\)$|transparent/.test(color)) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = ".head h1, .head p, nav a, .jobs td, .jobs th, .jobs .state, .tile .label, .tile .value, .btn";
  return [...document.querySelectorAll(texts)]
    .filter((e) => e.offsetParent && e.textContent.trim())
    .map((e) => {
      const [a, b] = [luminance(getComputedStyle(e).color), luminance(back(e))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), e.className, e.textContent.trim().slice(0, 30)];
    })
    .sort((x, y) => x[0] - y[0])[0];
}"""


def test_the_first_stop_skips_to_the_page(log_in: LogIn) -> None:
    page = log_in("victor")
    expect(page.locator("[data-job]")).to_have_count(50)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".main")).to_be_focused()


def test_pages_are_reached_by_keyboard_and_focus_is_visible(log_in: LogIn) -> None:
    page = log_in("victor")
    expect(page.locator("[data-job]")).to_have_count(50)
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e); "
            "return [e.textContent.trim() || e.getAttribute('aria-label'), s.outlineStyle + ' ' + s.outlineWidth]; }"
        )
        seen.append(name)
        assert outline == "solid 2px", name
        if name == "Views":
            break
    assert "Editor" in seen
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Views")).to_be_visible()
    expect(page).to_have_url(re.compile("/views$"))
    expect(page.get_by_role("link", name="Views")).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_control_k_goes_anywhere(log_in: LogIn) -> None:
    page = log_in("victor")
    expect(page.locator("[data-job]")).to_have_count(50)
    page.keyboard.press("Control+k")
    page.keyboard.type("spend")
    expect(page.get_by_role("option", name="spending")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/views/fraud-totals.spending"))
    expect(page.get_by_text("10,000 rows")).to_be_visible()


def test_a_job_is_opened_with_the_enter_key(log_in: LogIn) -> None:
    page = log_in("victor")
    page.get_by_role("link", name="auctions-alerts").focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/jobs/auctions-alerts"))


def test_the_theme_is_toggled_and_remembered(log_in: LogIn) -> None:
    page = log_in("victor")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Change between light and dark").click()
    expect(root).to_have_attribute("data-theme", "dark")
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Change between light and dark").click()
    expect(root).to_have_attribute("data-theme", "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_system_and_everything_can_be_read(browser: Browser, served: Served, scheme: str) -> None:
    context = browser.new_context(base_url=served.url, color_scheme=scheme)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/login")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("water")
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("[data-job]").first).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", scheme)
    contrast, *where = page.evaluate(CONTRAST)
    assert contrast >= 4.5, where
    context.close()
