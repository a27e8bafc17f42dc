from collections.abc import Callable

from playwright.sync_api import Page, expect

from server.console.conftest import Served

LogIn = Callable[..., Page]


def test_steps_carry_their_figures_and_change_in_place(log_in: LogIn, served: Served) -> None:
    page = log_in("victor", "/jobs/fraud-alerts")
    source = page.locator(".topology .source").first
    figure = source.locator(".figure").first
    expect(figure).to_contain_text("rows/s")
    expect(page.locator(".topology .stateful .figure", has_text="rows kept").first).to_be_visible()
    box, text = source.bounding_box(), figure.text_content()
    served.tick(20)
    expect(figure).not_to_have_text(text or "")
    assert source.bounding_box() == box


def test_figures_logs_rejected_rows_and_alerts(log_in: LogIn) -> None:
    page = log_in("olga", "/jobs/search-totals?tab=Figures")
    expect(page.locator(".chart canvas")).to_have_count(4)
    page.get_by_role("tab", name="Logs").click()
    expect(page.get_by_role("log").locator(".entry").nth(79)).to_be_attached()
    page.get_by_role("button", name="Errors", exact=True).click()
    expect(page.get_by_role("log").locator(".entry")).to_have_count(1)
    page.get_by_role("tab", name="Rows", exact=True).click()
    expect(page.locator(".grid .row").first).to_contain_text("/30")
    expect(page.get_by_text("The last 30 rows, the newest on top")).to_be_visible()
    page.get_by_role("tab", name="Rejected").click()
    expect(page.get_by_role("row", name="spending + per_country 24")).to_be_visible()
    expect(page.locator(".grid .row", has_text="is behind the watermark")).to_contain_text("transactions:2:9117")
    expect(page.get_by_text("late = 'keep'  -- accounts")).to_be_visible()
    expect(page.get_by_text("Every row could be read")).to_be_visible()
    page.get_by_role("tab", name="Alerts").click()
    alert = page.locator("[data-alert=a-17]")
    expect(alert.locator("canvas")).to_be_visible()
    expect(alert.locator(".row", has_text="41200")).to_be_visible()
    alert.get_by_role("button", name="Acknowledge").click()
    expect(alert).to_contain_text("acknowledged by olga")


def test_a_failed_job_shows_its_error_in_three_parts(log_in: LogIn) -> None:
    page = log_in("victor", "/jobs/auctions-quality")
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("the topic has no column price")
    expect(problem).to_contain_text("Message 12 at offset 1,204")
    expect(problem).to_contain_text("Hint: Change the stream")


def test_stop_restart_and_delete(log_in: LogIn) -> None:
    page = log_in("dana", "/jobs/shipping-totals")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".head .state.pill")).to_have_text("Running")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop the job").click()
    expect(page.locator(".head .state.pill")).to_have_text("Stopped")
    expect(page.get_by_role("button", name="Delete")).to_be_visible()
    page.get_by_role("button", name="Restart").click()
    page.get_by_role("dialog").get_by_role("button", name="Restart").click()
    expect(page.locator(".head .state.pill")).to_have_text("Running")
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)


def test_cores_and_memory_are_changed_by_a_restart(log_in: LogIn) -> None:
    page = log_in("dana", "/jobs/shipping-totals")
    expect(page.locator(".head")).to_contain_text("2 cores, 1 GB")
    page.get_by_role("button", name="Restart").click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("Cores").fill("many")
    asked.get_by_role("button", name="Restart").click()
    expect(page.locator(".q-notification", has_text="Cores is a whole number")).to_be_visible()
    asked.get_by_label("Cores").fill("4")
    asked.get_by_label("Memory in MB").fill("2048")
    asked.get_by_role("button", name="Restart").click()
    expect(page.locator(".head")).to_contain_text("4 cores, 2048 MB")


def test_a_job_is_restricted_by_those_who_manage_access(log_in: LogIn) -> None:
    page = log_in("ada", "/jobs/fraud-totals")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("checkbox", name="Only its owner, admins and those below").click()
    expect(page.get_by_text("It is shared with nobody in particular.", exact=True)).to_be_visible()
    page.get_by_role("button", name="Close").click()

    page.get_by_role("button", name="Share").click()
    only = page.get_by_role("checkbox", name="Only its owner, admins and those below")
    expect(only).to_be_checked()
    only.click()
    expect(page.get_by_text("It is shared with nobody in particular: roles decide.")).to_be_visible()


def test_an_owner_sees_no_switch_for_that(log_in: LogIn) -> None:
    page = log_in("dana", "/jobs/fraud-totals")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_text("It is shared with nobody in particular: roles decide.")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Only its owner")).to_have_count(0)


def test_what_others_use_is_not_deleted(log_in: LogIn) -> None:
    page = log_in("dana", "/jobs/fraud-totals")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Stop the job").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    told = page.locator(".q-notification", has_text="is in use")
    expect(told).to_contain_text("read by fraud-alerts")
    expect(told).to_contain_text("Hint: Stop or change them first.")


def test_an_upgrade_is_confirmed_only_after_its_report(log_in: LogIn) -> None:
    page = log_in("dana", "/jobs/fraud-quality")
    page.get_by_role("button", name="Upgrade").click()
    asked = page.get_by_role("dialog")
    expect(asked.locator(".cm-content")).to_contain_text("MATCH_RECOGNIZE")
    expect(asked.get_by_role("button", name="Upgrade now")).to_be_hidden()
    asked.get_by_role("button", name="See what changes").click()
    expect(asked.locator("[data-report]")).to_contain_text("Rebuilt")
    expect(asked.get_by_role("button", name="Upgrade now")).to_be_visible()
    asked.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("-- other\n")
    expect(asked.get_by_role("button", name="Upgrade now")).to_be_hidden()
    asked.get_by_role("button", name="See what changes").click()
    asked.get_by_role("button", name="Upgrade now").click()
    expect(page.locator(".head .under")).to_contain_text("version 4")
    # a new version has another output: each figure stands beside its own name
    outputs = page.locator(".card", has_text="Outputs").locator("tbody tr")
    expect(outputs.locator("td:first-child")).to_have_text(["by_city", "spending", "alerts", "query_1"])
    expect(outputs.locator("td:last-child")).to_have_text(["7", "120,431", "318", "30"])


def test_a_job_that_is_not_there_says_so(log_in: LogIn) -> None:
    page = log_in("victor", "/jobs/nothing")
    expect(page.get_by_role("alert")).to_contain_text('there is no job "nothing"')
