import re
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

from server.console.conftest import LONG, Served

LogIn = Callable[..., Page]


def test_a_page_leads_to_the_log_in_and_back_to_itself(page: Page) -> None:
    page.goto("/jobs/fraud-alerts?tab=Logs")
    expect(page).to_have_url(re.compile("/login"))
    page.get_by_label("Name").fill("victor")
    page.get_by_label("Password").fill("water")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="fraud-alerts")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/jobs/fraud-alerts\?tab=Logs"))


def test_a_wrong_password_is_told_and_the_name_stays(page: Page) -> None:
    page.goto("/login")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill("wine")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("name or password is wrong")
    expect(page.get_by_role("alert")).to_contain_text("Hint: Ask an admin for a new password.")
    expect(page.get_by_label("Name")).to_have_value("ada")


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(log_in: LogIn, context: BrowserContext) -> None:
    log_in("ada")
    (cookie,) = context.cookies()
    assert cookie["httpOnly"] is True
    assert cookie["sameSite"] == "Strict"


def test_logging_out_ends_the_session_itself(log_in: LogIn, context: BrowserContext, served: Served) -> None:
    page = log_in("ada")
    (cookie,) = context.cookies()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(re.compile("/login"))
    answer = httpx.get(f"{served.url}/", cookies={cookie["name"]: cookie["value"]}, timeout=LONG)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login")


def test_a_session_that_ends_elsewhere_leads_to_the_log_in(log_in: LogIn, served: Served) -> None:
    page = log_in("ada")
    expect(page.locator("[data-job]")).to_have_count(50)
    served.forget_sessions()
    expect(page).to_have_url(re.compile("/login"))


@pytest.mark.parametrize("to", ["//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere.example"])
def test_nobody_is_led_to_another_site(served: Served, to: str) -> None:
    answer = httpx.post(f"{served.url}/login", data={"name": "ada", "password": "water", "next": to}, timeout=LONG)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "http://elsewhere.example"}],
)
@pytest.mark.parametrize("form", ["login", "logout"])
def test_forms_of_other_sites_do_nothing(served: Served, headers: dict[str, str], form: str) -> None:
    right = httpx.post(f"{served.url}/login", data={"name": "ada", "password": "water"}, timeout=LONG)
    cookies = dict(right.cookies)
    assert cookies
    given = {"name": "ada", "password": "water"}
    answer = httpx.post(f"{served.url}/{form}", data=given, headers=headers, cookies=cookies, timeout=LONG)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    if form == "logout":
        assert httpx.get(f"{served.url}/", cookies=cookies, timeout=LONG).status_code == 200


def test_pages_cannot_be_framed(served: Served) -> None:
    headers = httpx.get(f"{served.url}/login", timeout=LONG).headers
    assert headers["x-frame-options"] == "DENY"
    assert headers["content-security-policy"].startswith("frame-ancestors 'none';")
