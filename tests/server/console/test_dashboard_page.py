from collections.abc import Callable

from playwright.sync_api import Page, expect

from headrace.server.services.dashboards import parse
from server.console.conftest import Served
from server.console.fake_backend import DASHBOARD

LogIn = Callable[..., Page]


def test_panels_show_the_answers_of_their_queries(log_in: LogIn) -> None:
    page = log_in("victor", "/dashboards/fraud")
    expect(page.get_by_role("region", name="Purchases so far").locator(".value")).not_to_have_text("…")
    expect(page.get_by_role("region", name="Who spends most").locator(".row").first).to_be_visible()
    for title in ("Where cards are used", "Purchases per country", "Purchases over time"):
        expect(page.get_by_role("region", name=title).locator("canvas")).to_be_visible()


def test_panels_are_added_moved_changed_and_removed_and_saved_as_yaml(log_in: LogIn, served: Served) -> None:
    page = log_in("dana", "/dashboards/fraud")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("button", name="Remove: Largest total").click()
    expect(page.locator(".panel")).to_have_count(5)
    page.get_by_role("button", name="Move before: Who spends most").click()
    expect(page.locator(".panel").nth(2)).to_have_attribute("aria-label", "Who spends most")
    page.get_by_role("button", name="Edit: Purchases so far").click()
    page.get_by_role("dialog").get_by_label("Title").fill("All purchases")
    page.get_by_role("dialog").get_by_role("button", name="Take over").click()
    expect(page.get_by_role("region", name="All purchases")).to_be_visible()
    page.get_by_role("button", name="Add panel").click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("Title").fill("Countries")
    asked.get_by_role("button", name="Take over").click()
    expect(asked.get_by_role("alert")).to_contain_text('the panel needs the field "query"')
    asked.locator(".cm-content").click()
    page.keyboard.insert_text("SELECT count(*) AS n FROM per_country")
    asked.get_by_role("button", name="Take over").click()
    expect(page.get_by_role("region", name="Countries").locator(".row")).to_contain_text("10")
    assert "Countries" not in (served.folder / "fraud.dashboard.yaml").read_text()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_visible()
    saved = parse((served.folder / "fraud.dashboard.yaml").read_text())
    assert [panel.title for panel in saved.panels] == [
        "All purchases",
        "Where cards are used",
        "Who spends most",
        "Purchases per country",
        "Purchases over time",
        "Countries",
    ]
    page.reload()
    expect(page.get_by_role("region", name="All purchases")).to_be_visible()


def test_changes_can_be_discarded(log_in: LogIn, served: Served) -> None:
    page = log_in("dana", "/dashboards/fraud")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("button", name="Remove: Largest total").click()
    expect(page.get_by_role("region", name="Largest total")).to_have_count(0)
    page.get_by_role("button", name="Discard").click()
    page.get_by_role("dialog").get_by_role("button", name="Discard").click()
    expect(page.get_by_role("region", name="Largest total")).to_be_visible()
    assert (served.folder / "fraud.dashboard.yaml").read_text() == DASHBOARD


def test_what_somebody_else_saved_meanwhile_is_not_lost(log_in: LogIn, served: Served) -> None:
    page = log_in("dana", "/dashboards/fraud")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("button", name="Remove: Largest total").click()
    expect(page.locator(".panel")).to_have_count(5)
    others = DASHBOARD.replace("Card fraud", "Fraud")
    (served.folder / "fraud.dashboard.yaml").write_text(others)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".q-notification", has_text="no longer as you have seen it")).to_be_visible()
    expect(page.get_by_role("button", name="Save")).to_be_visible()
    assert (served.folder / "fraud.dashboard.yaml").read_text() == others
    page.goto("/dashboards")
    page.get_by_role("button", name="New dashboard").click()
    page.get_by_role("dialog").get_by_label("Application").fill("fraud")
    page.get_by_role("dialog").get_by_label("Title").fill("Another")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no longer as you have seen it")
    assert (served.folder / "fraud.dashboard.yaml").read_text() == others


def test_a_file_with_a_mistake_shows_its_line(log_in: LogIn, served: Served) -> None:
    (served.folder / "fraud.dashboard.yaml").write_text("title: T\npanels:\n- {kind: pie, title: A, query: B}\n")
    page = log_in("victor", "/dashboards/fraud")
    expect(page.get_by_role("alert")).to_contain_text('there is no panel of kind "pie"')
    expect(page.get_by_role("alert")).to_contain_text("line 3")


def test_a_panel_whose_query_fails_says_so_in_its_place(log_in: LogIn, served: Served) -> None:
    text = DASHBOARD.replace("SELECT max(total) AS total FROM spending", "SELECT max(total) AS total FROM spend")
    (served.folder / "fraud.dashboard.yaml").write_text(text)
    page = log_in("victor", "/dashboards/fraud")
    expect(page.get_by_role("region", name="Largest total").get_by_role("alert")).to_contain_text(
        "no such table: spend"
    )
    expect(page.get_by_role("region", name="Who spends most").locator(".row").first).to_be_visible()
