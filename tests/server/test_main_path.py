"""The whole main path in a real browser over a real server and a real Spark job; then what a viewer may not."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headrace.jobs import processes
from headrace.jobs.folder import JobFolder
from server.test_browser import opened, write
from server.test_process import SPARK, Process
from support.waiting import until

pytestmark = pytest.mark.spark

PATIENCE = 480
PAINTED = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = {};
  for (let n = 0; n < data.length; n += 4) if (data[n + 3] === 255) {
    const colour = `${data[n]},${data[n + 1]},${data[n + 2]}`;
    colours[colour] = (colours[colour] || 0) + 1;
  }
  return Math.max(0, ...Object.values(colours));
}"""
"""How many points of a chart have the commonest colour: a bar has thousands, letters and lines have few."""
ACTS = re.compile(r"^(Share|Stop|Restart|Savepoint|Upgrade|Delete|Submit|Save|Run|New dashboard|Edit|Add)")


def application(incoming: Path) -> str:
    return f"""\
SET shuffle_partitions = 1;
CREATE STREAM orders (customer STRING, amount INT) WITH (connector = 'files', path = '{incoming}');
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
SELECT customer, amount * 2 AS double FROM orders;
"""


def arrive(folder: Path, number: int, **amounts: int) -> Path:
    lines = [json.dumps({"customer": customer, "amount": amount}) for customer, amount in amounts.items()]
    (folder / f".{number}").write_text("\n".join(lines) + "\n")
    return (folder / f".{number}").rename(folder / f"{number}.json")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path, *SPARK)
    yield made
    for folder in tmp_path.glob("data/jobs/[0-9a-f]*"):
        driver = JobFolder(folder).driver()
        if driver is not None:
            processes.kill(driver)  # what a failed test leaves behind
    made.leave_nothing()


def test_write_mend_submit_watch_stop_upgrade(browser: Browser, server: Process, tmp_path: Path) -> None:
    incoming = tmp_path / "in"
    incoming.mkdir()
    first = arrive(incoming, 1, ann=10, bob=4)
    page = opened(browser, server, "dora", "developer", "/editor")

    write(page, application(incoming).replace("GROUP BY customer", "GROUP BY custmer"))
    expect(page.locator(".verdict .problem")).to_contain_text('Did you mean "customer"?')
    mistake = page.locator(".cm-content .mistake")
    expect(mistake).to_have_text("custmer")
    mistake.dblclick()
    page.keyboard.insert_text("customer")
    expect(page.locator(".verdict .problem:not(.warning)")).to_have_count(0)
    expect(page.locator(".topology text", has_text="read stream orders")).to_be_visible()
    page.get_by_role("button", name="Submit").first.click()
    page.get_by_role("dialog").get_by_label("Name").fill("shop")
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile("/jobs/shop"))
    expect(_state(page)).to_have_text("Running", timeout=PATIENCE * 1000)

    # The chart stands before its rows come, and shows them as they do.
    until(lambda: _is_there(page, "/views/totals"), PATIENCE)
    page.get_by_role("button", name="Chart").click()
    page.get_by_role("button", name="Follow changes").click()
    chart = page.locator(".chart")
    _shows(chart, "ann 10, bob 4")
    arrive(incoming, 2, bob=6, eve=3)
    _shows(chart, "ann 10, bob 10, eve 3")
    until(lambda: chart.locator("canvas").evaluate(PAINTED) > 2000)

    page.goto("/jobs/shop?tab=Rows")  # those of the bare SELECT
    expect(page.locator(".grid .row", has_text="bob").first).to_contain_text("12")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop the job").click()
    expect(_state(page)).to_have_text("Stopped", timeout=PATIENCE * 1000)

    first.unlink()  # a new version that began anew would not know of it
    arrive(incoming, 3, ann=1)
    page.get_by_role("button", name="Upgrade").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".cm-content")).to_contain_text("CREATE STREAM")
    dialog.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    other = f"CREATE STREAM more (customer STRING) WITH (connector = 'files', path = '{incoming}');\n"
    page.keyboard.insert_text(f"{other}CREATE MATERIALIZED VIEW orders_of AS SELECT customer, count(*) AS orders ")
    page.keyboard.insert_text("FROM more GROUP BY customer;\n")
    expect(dialog.get_by_role("button", name="Upgrade now")).to_be_hidden()
    dialog.get_by_role("button", name="See what changes").click()
    report = dialog.locator("[data-report] tbody tr")
    expect(report.filter(has_text="totals")).to_contain_text("Kept")
    expect(report.filter(has_text="orders_of")).to_contain_text("New")
    dialog.get_by_role("button", name="Upgrade now").click()
    expect(_state(page)).to_have_text("Running", timeout=PATIENCE * 1000)
    expect(page.locator(".head")).to_contain_text("version 2")
    page.goto("/views/totals")
    page.get_by_role("button", name="Chart").click()
    page.get_by_role("button", name="Follow changes").click()
    _shows(page.locator(".chart"), "ann 11, bob 10, eve 3")

    a_viewer_only_looks(browser, server)
    assert "is stopped" in server.run("job", "stop", "shop", "--wait")
    assert "Traceback" not in server.run("job", "logs", "shop")
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(re.compile("/login"))
    page.goto("/jobs/shop")
    expect(page).to_have_url(re.compile("/login"))


def a_viewer_only_looks(browser: Browser, server: Process) -> None:
    page = opened(browser, server, "vera", "viewer", "/jobs/shop")
    for address, shown in (
        ("/jobs/shop", "shop"),
        ("/editor?application=shop", "shop"),
        ("/dashboards", "Dashboards"),
        ("/people", "People and access"),
    ):
        page.goto(address)
        expect(page.get_by_role("heading", name=shown, exact=True)).to_be_visible()
        expect(page.get_by_role("button", name=ACTS)).to_have_count(0)
    expect(page.get_by_role("tab", name="Users")).to_have_count(0)
    cookies = {each["name"]: each["value"] for each in page.context.cookies()}
    with httpx.Client(base_url=f"{server.url}/api/v1", cookies=cookies, timeout=120) as http:
        csrf = http.get("/me").json()["csrf_token"]
        http.headers["X-CSRF-Token"] = csrf
        text = {"text": "SELECT 1 AS one"}
        for method, path, body in (
            ("POST", "/jobs/shop/stop", {}),
            ("POST", "/jobs/shop/restart", {}),
            ("POST", "/jobs/shop/upgrade", text),
            ("POST", "/jobs/shop/savepoints", {}),
            ("DELETE", "/jobs/shop", None),
            ("POST", "/jobs", {"name": "mine", **text}),
            ("PUT", "/applications/shop", text),
            ("POST", "/check", text),
            ("GET", "/users", None),
            ("GET", "/audit", None),
        ):
            answer = http.request(method, path, json=body)
            assert answer.status_code == 403, (method, path, answer.text)
        assert http.get("/jobs/shop").json()["state"] in {"running", "degraded"}
        assert http.get("/views/totals/rows").json()["total"] == 3


def _state(page: Page) -> Locator:
    return page.locator(".head .state.pill")


def _is_there(page: Page, address: str) -> bool:
    """Open a page; say whether it shows rows, and not that a view is not there yet."""
    page.goto(address)
    page.wait_for_selector(".head, .problem")
    return page.get_by_role("button", name="Chart").count() == 1


def _shows(chart: Locator, values: str) -> None:
    expect(chart).to_have_attribute("aria-description", values, timeout=PATIENCE * 1000)
