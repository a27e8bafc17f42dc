"""The console in a real browser over a real server: the main path, and what a viewer may not."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore
from server.conftest import PATIENCE
from server.test_process import FAKE, Process
from support.job_yard import APPLICATION
from support.waiting import until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path, str(FAKE), "data")
    yield made
    made.leave_nothing()


def opened(browser: Browser, server: Process, name: str, role: str, address: str = "/") -> Page:
    """Return a page of somebody who has just been added, logs in and chooses a password."""
    password = server.run("user", "add", name, "--role", role).split()[-1]
    page = browser.new_context(base_url=server.url, viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"/login?next={address}")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    choose(page, password, "four words of one's own")
    page.wait_for_selector(".shell")
    return page


def choose(page: Page, given: str, new: str) -> None:
    page.get_by_label("Password that you were given").fill(given)
    page.get_by_label("New password", exact=True).fill(new)
    page.get_by_label("New password once more").fill(new)
    page.get_by_role("button", name="Choose a password").click()


def write(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def totals_of(server: Process, job: str, row: tuple[str, int]) -> SqliteViewStore:
    """Return the store of a job, with one row in its view ``totals``."""
    job_id = json.loads(server.run("job", "show", job, "--output", "json"))["id"]
    store = SqliteViewStore(server.folder / "data" / "jobs" / job_id / "state" / job / "views.sqlite")
    columns = (ViewColumn("k", "string"), ViewColumn("total", "bigint"))
    store.define(f"{job}.totals", [ViewDefinition("totals", columns, key=("k",))])
    store.take(f"{job}.totals", 0, {"totals": Delta(inserted=[row])}, Reflects())
    return store


def test_from_the_log_in_to_rows_in_a_view(browser: Browser, server: Process) -> None:
    page = opened(browser, server, "dora", "developer", "/editor")
    write(page, APPLICATION.replace("sum(v)", "sum(w)"))
    expect(page.locator(".verdict .problem")).to_contain_text("w")
    write(page, APPLICATION)
    expect(page.locator(".topology text", has_text="read stream s")).to_be_visible()
    page.get_by_role("button", name="Submit").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("shop")
    dialog.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile("/jobs/shop"))
    expect(page.get_by_text("running").first).to_be_visible()

    store = totals_of(server, "shop", ("kettle", 41))
    page.goto("/views/totals")
    expect(page.locator(".grid .row", has_text="kettle")).to_contain_text("41")
    page.get_by_role("button", name="Follow changes").click()
    store.take("shop.totals", 1, {"totals": Delta([("kettle", 41)], [("kettle", 42)])}, Reflects())
    expect(page.locator(".grid .row", has_text="kettle")).to_contain_text("42")
    store.close()

    viewer = opened(browser, server, "vera", "viewer", "/jobs/shop")
    expect(viewer.get_by_role("heading", name="shop")).to_be_visible()
    stop = viewer.get_by_role("button", name=re.compile("^Stop"))
    assert stop.count() == 0 or stop.first.is_disabled()
    cookies = {each["name"]: each["value"] for each in viewer.context.cookies()}
    with httpx.Client(base_url=f"{server.url}/api/v1", cookies=cookies, timeout=120) as http:
        csrf = {"X-CSRF-Token": http.get("/me").json()["csrf_token"]}
        assert http.post("/jobs/shop/stop", json={}).status_code == 403
        assert http.post("/jobs/shop/stop", json={}, headers=csrf).status_code == 403
        assert http.get("/jobs/shop").json()["state"] in {"running", "degraded"}

    page.goto("/jobs/shop")
    page.get_by_role("button", name=re.compile("^Stop")).first.click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Stop")).last.click()
    until(lambda: "stopped" in server.run("job", "list"))
    expect(page.get_by_text("stopped").first).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(re.compile("/login"))


def test_equal_names_of_two_jobs_are_told_apart(browser: Browser, server: Process, tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(APPLICATION)
    for job, row in (("shop", ("kettle", 41)), ("shop2", ("lamp", 7))):
        server.run("job", "submit", "shop.sql", "--name", job, "--wait")
        totals_of(server, job, row).close()
    page = opened(browser, server, "vera", "viewer", "/views")
    for job, thing in (("shop", "kettle"), ("shop2", "lamp")):
        page.goto("/views")
        page.locator("tr", has=page.get_by_role("link", name=job, exact=True)).get_by_role(
            "link", name="totals"
        ).click()
        expect(page.get_by_role("heading", name="totals")).to_be_visible()
        expect(page.locator(".grid .row")).to_contain_text(thing)
        page.goto(f"/jobs/{job}")
        page.get_by_role("link", name="totals").click()
        expect(page.locator(".grid .row")).to_contain_text(thing)
        page.keyboard.press("Control+k")
        page.keyboard.type(f"{job}.totals")
        expect(page.get_by_role("option")).to_have_count(1)
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"/views/{job}.totals"))
        page.goto("/catalog")
        page.locator("tr", has=page.get_by_role("link", name=job, exact=True)).get_by_role(
            "link", name="s", exact=True
        ).click()
        expect(page.get_by_role("heading", name="s", exact=True)).to_be_visible()
        expect(page.locator(".facts").get_by_role("link", name=job, exact=True).first).to_be_visible()
    page.goto("/catalog/s")
    expect(page.get_by_role("alert")).to_contain_text("shop.s and shop2.s")
    page.goto("/views")
    page.get_by_role("tab", name="Query").click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".grid .row")).to_contain_text("kettle")


def test_a_given_password_is_changed_before_anything_else(browser: Browser, server: Process) -> None:
    given = server.run("user", "add", "vera").split()[-1]
    page = browser.new_context(base_url=server.url).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto("/views")
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Password").fill(given)
    page.get_by_role("button", name="Log in").click()
    for address in ("/", "/jobs/shop", "/people"):
        page.goto(address)
        expect(page).to_have_url(re.compile("/password"))
    page.goto("/views")
    choose(page, given, given)
    expect(page.get_by_role("alert")).to_contain_text("the new password is the old one")
    page.get_by_label("Password that you were given").fill(given)
    choose(page, given, "four words of one's own")
    expect(page.get_by_role("heading", name="Views")).to_be_visible()
    page.goto("/password")
    expect(page).to_have_url(f"{server.url}/")
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Password").fill("four words of one's own")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector(".shell")
