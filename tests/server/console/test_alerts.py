from collections.abc import Callable

from playwright.sync_api import Page, expect

LogIn = Callable[..., Page]


def test_alerts_of_all_jobs_lead_to_their_evidence(log_in: LogIn) -> None:
    page = log_in("victor", "/alerts")
    row = page.locator("tbody tr").first
    expect(row).to_be_visible()
    row.get_by_role("link").click()
    expect(page.get_by_role("tab", name="Alerts")).to_have_attribute("aria-selected", "true")


def test_rules_are_added_changed_and_removed(log_in: LogIn) -> None:
    page = log_in("dana", "/alerts")
    page.get_by_role("tab", name="Rules").click()
    expect(page.locator("[data-rule='of the file'] button")).to_have_count(0)
    page.get_by_role("button", name="Add rule").click()
    asked = page.get_by_role("dialog")
    asked.get_by_role("button", name="Save").click()
    expect(asked.get_by_role("alert")).to_contain_text("a rule needs a name")
    asked.get_by_label("Name").fill("slow orders")
    asked.get_by_label("Jobs, with * and ?").fill("orders*")
    asked.get_by_label("Messages that are still to be read").fill("many")
    asked.get_by_role("button", name="Save").click()
    expect(asked.get_by_role("alert")).to_contain_text("is not a number")
    asked.get_by_label("Messages that are still to be read").fill("1,000")
    asked.get_by_label("Lasting").fill("1 minute")
    asked.get_by_role("button", name="Save").click()
    row = page.locator("[data-rule='slow orders']")
    expect(row).to_contain_text("messages 1000, lasting 1 minute")
    row.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("dialog").get_by_label("Messages that are still to be read")).to_have_value("1000")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_a_viewer_only_looks_at_rules(log_in: LogIn) -> None:
    page = log_in("victor", "/alerts")
    page.get_by_role("tab", name="Rules").click()
    expect(page.locator("[data-rule]")).to_have_count(3)
    expect(page.locator("[data-rule] button")).to_have_count(0)
    expect(page.get_by_role("button", name="Add rule")).to_have_count(0)
