"""Dialogs that ask: how to run an application, how to start a job again, what is to go for good."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from server.console.conftest import Served

LogIn = Callable[..., Page]
OPEN = """CREATE STREAM s (price INT) WITH (connector = 'files', path = '${FOLDER}', format = '${FORMAT:-json}');
SELECT price FROM s;"""


def test_what_a_text_leaves_open_is_asked_for_with_cores_and_memory(log_in: LogIn, served: Served) -> None:
    page = log_in("dana", "/editor")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(OPEN)
    page.get_by_role("button", name="Submit").click()
    asked = page.get_by_role("dialog")
    asked.get_by_label("Name").fill("prices")
    asked.get_by_label("FOLDER").fill("/srv/in")
    expect(asked.get_by_label("FORMAT")).to_have_attribute("placeholder", "json unless you say otherwise")
    asked.get_by_label("Cores").fill("two")
    asked.get_by_role("button", name="Submit").click()
    expect(asked.get_by_role("alert")).to_contain_text("cores is a whole number")
    asked.get_by_label("Cores").fill("2")
    asked.get_by_label("Memory in MB").fill("2048")
    asked.get_by_label("Spark master").fill("spark://host:7077")
    asked.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile("/jobs/prices"))
    assert served.options("prices") == {
        "variables": {"FOLDER": "/srv/in"},
        "cores": 2,
        "memory": 2048,
        "master": "spark://host:7077",
    }


def test_only_who_may_replay_can_start_a_job_anew(log_in: LogIn) -> None:
    page = log_in("dana", "/jobs/fraud-totals")
    page.get_by_role("button", name="Restart").click()
    asked = page.get_by_role("dialog")
    expect(asked.get_by_label("Sources begin at (UTC)")).to_be_hidden()
    asked.get_by_text("Forget its state, and begin anew").click()
    expect(asked.get_by_label("Sources begin at (UTC)")).to_be_visible()
    asked.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Log out").click()
    page = log_in("olga", "/jobs/fraud-totals")
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_role("dialog").get_by_text("Forget its state")).to_be_hidden()


def test_a_savepoint_says_that_the_job_stops_and_can_be_deleted(log_in: LogIn) -> None:
    page = log_in("dana", "/jobs/fraud-totals?tab=Versions and savepoints")
    page.get_by_role("button", name="Savepoint", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("The job stops for as long as that takes")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Delete sp-20260221-1512").click()
    page.get_by_role("button", name="Delete it").click()
    expect(page.get_by_text("sp-20260221-1512", exact=True)).to_have_count(0)
    expect(page.get_by_text("sp-20260301-0400", exact=True)).to_be_visible()


def test_a_user_can_be_deleted(log_in: LogIn) -> None:
    page = log_in("ada", "/people")
    page.get_by_role("button", name="Edit olga").click()
    page.get_by_role("button", name="Delete user").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.locator("[data-user=olga]")).to_have_count(0)
    expect(page.locator("[data-user=dana]")).to_be_visible()


def test_a_token_ends(log_in: LogIn) -> None:
    page = log_in("dana", "/people")
    page.get_by_role("button", name="New token").click()
    page.get_by_label("Ends after").click()
    expect(page.locator(".q-menu .q-item")).to_have_text(["30 days", "90 days", "A year, the longest"])


def test_a_match_shows_the_records_behind_it(log_in: LogIn) -> None:
    page = log_in("victor", "/views/matches")
    page.locator(".grid .row").first.dblclick()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("612.5")
    expect(asked.locator("table").nth(1).locator("tr").nth(1).locator("td")).to_have_text(
        ["SMALL", "transactions", "3", "1204", "t-17"]
    )
    expect(asked).to_contain_text('{"id": "t-17", "amount": 0.50}')
    expect(asked).to_contain_text("LARGE at transactions, 3, 1311")
    expect(asked).to_contain_text("It is no longer there.")
    asked.get_by_role("button", name="Close").click()
    expect(asked).to_be_hidden()
    page.locator(".grid").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("t-18")


def test_the_list_of_views_tells_how_many_rows_they_have(log_in: LogIn) -> None:
    page = log_in("victor", "/views")
    expect(page.locator("tr", has_text="spending").locator("td").nth(1)).to_have_text("10,000")
