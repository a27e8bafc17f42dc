import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

LogIn = Callable[..., Page]


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
