from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

LogIn = Callable[..., Page]

SHOWN = {
    "victor": (),
    "olga": ("Stop", "Restart", "Savepoint"),
    "dana": ("Stop", "Restart", "Savepoint", "Upgrade", "Rebuild", "Share"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_job_has_buttons_only_for_what_a_user_may(log_in: LogIn, name: str) -> None:
    page = log_in(name, "/jobs/fraud-totals")
    expect(page.get_by_role("tab", name="Versions")).to_be_visible()
    buttons = page.locator(".head .actions button")
    expect(buttons).to_have_count(len(SHOWN[name]))
    assert tuple(buttons.all_inner_texts()) == SHOWN[name]


def test_a_viewer_is_told_why_there_are_no_buttons(log_in: LogIn) -> None:
    page = log_in("victor", "/jobs/fraud-totals")
    expect(page.get_by_text("it needs the role operator, and victor is viewer")).to_be_visible()
    page.get_by_role("tab", name="Versions").click()
    expect(page.get_by_role("button", name="Show SQL").first).to_be_visible()
    expect(page.get_by_role("button", name="Restart from here")).to_have_count(0)
    page.get_by_role("tab", name="Alerts").click()
    expect(page.get_by_role("button", name="Acknowledge")).to_have_count(0)


@pytest.mark.parametrize(
    ("address", "sign", "absent"),
    [
        ("/", "[data-job]", ("New application",)),
        ("/editor?application=fraud", ".cm-content", ("Save", "Run", "Submit")),
        ("/dashboards", ".table", ("New dashboard",)),
        ("/dashboards/fraud", ".panel", ("Edit", "Save")),
    ],
)
def test_a_viewer_sees_no_button_that_he_may_not_use(
    log_in: LogIn, address: str, sign: str, absent: tuple[str, ...]
) -> None:
    page = log_in("victor", address)
    expect(page.locator(sign).first).to_be_visible()
    for name in absent:
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_keys_of_the_editor_do_nothing_for_a_viewer(log_in: LogIn) -> None:
    page = log_in("victor", "/editor?application=fraud")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("tab", name="Topology")).to_have_attribute("aria-selected", "true")


def test_only_an_admin_sees_users_lists_and_the_audit_log(log_in: LogIn) -> None:
    page = log_in("dana", "/people")
    expect(page.get_by_role("tab")).to_have_text(["Tokens", "My account"])
    page.get_by_role("button", name="Log out").click()
    log_in("ada", "/people")
    expect(page.get_by_role("tab")).to_have_text(
        ["Users", "Groups", "Access lists", "Tokens", "My account", "Audit log"]
    )


def test_the_audit_log_is_turned_over_page_by_page(log_in: LogIn) -> None:
    page = log_in("ada", "/people")
    page.get_by_role("tab", name="Audit log").click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(200)
    expect(rows.first).to_contain_text("version 0")
    expect(page.get_by_role("button", name="Newer")).to_have_count(0)
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("version 200")
    expect(page.get_by_role("button", name="Older")).to_have_count(0)
    page.get_by_role("button", name="Newer").click()
    expect(rows.first).to_contain_text("version 0")
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(50)
    page.get_by_label("Search user, action, object").fill("refused")
    expect(rows).to_have_count(36)  # from the newest on


def test_a_first_password_and_a_token_are_shown_once(log_in: LogIn) -> None:
    page = log_in("ada", "/people")
    page.get_by_role("button", name="Add user").click()
    page.get_by_role("dialog").get_by_label("Name").fill("ada")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("there is already a user")
    page.get_by_role("dialog").get_by_label("Name").fill("nora")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name="First password")).to_be_visible()
    expect(page.locator("code", has_text="first-")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.locator('[data-user="nora"]')).to_contain_text("viewer")
    page.get_by_role("tab", name="Tokens").click()
    page.get_by_role("button", name="New token").click()
    page.get_by_role("dialog").get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="Make it").click()
    expect(page.locator("code", has_text="hr_")).to_be_visible()
