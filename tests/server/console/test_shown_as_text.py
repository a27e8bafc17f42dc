"""HTML in rows, names, log lines, messages and records is shown as the text that it is."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from server.console.conftest import Served

LogIn = Callable[..., Page]
HTML = "<img src=x onerror=document.title=1>"
SCRIPT = f"{HTML}<script>document.title=1</script>"
DASHBOARD = f"""\
title: "{SCRIPT}"
panels:
- {{kind: number, title: "number {SCRIPT}", query: "SELECT '{SCRIPT}' AS n", unit: "{HTML}"}}
- {{kind: table, title: "table {SCRIPT}", query: "SELECT '{SCRIPT}' AS '{HTML}'"}}
- {{kind: bar, title: "bar {SCRIPT}", query: "SELECT '{SCRIPT}' AS x, 1 AS '{HTML}'", x: x}}
- kind: map
  title: "map {SCRIPT}"
  query: "SELECT '{SCRIPT}' AS x, 0 AS here, 0 AS there, 1 AS n"
  label: x
  latitude: here
  longitude: there
  value: n
- {{kind: line, title: "fails {SCRIPT}", query: "SELECT 1 FROM '{HTML}'", y: [n]}}
"""


def nothing_became_html(page: Page) -> None:
    assert page.locator("img, .main script, .q-notification script").count() == 0
    assert page.title().endswith("Headrace")


def hover(page: Page, chart: str, left: float = 0.5) -> None:
    """Point at the middle of a chart, and see what it says."""
    canvas = page.locator(f"{chart} canvas").first
    expect(canvas).to_be_visible()
    size = canvas.bounding_box()
    assert size is not None
    canvas.hover(position={"x": size["width"] * left, "y": size["height"] / 2})
    expect(page.locator(f"{chart} div", has_text=HTML).last).to_be_visible()


def test_of_a_job(log_in: LogIn) -> None:
    page = log_in("dana", "/editor")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"CREATE STREAM s (a INT) WITH (connector = 'memory');\nSELECT '{SCRIPT}' AS b FROM s;")
    expect(page.locator(".topology text", has_text="<img").first).to_be_visible()
    page.get_by_role("tab", name="Explanation").click()
    expect(page.locator("pre.explained")).to_contain_text(HTML)
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("dialog").get_by_label("Name").fill(HTML)
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text(f"The topic has no column {HTML}", ignore_case=True)
    expect(page.locator(".head")).to_contain_text(f"{HTML} is no name")
    for tab, where in (
        ("Logs", page.get_by_role("log")),
        ("Rejected rows", page.locator(".grid .cell", has_text="a lot").first),
        ("Alerts", page.locator("[data-alert=a-17]")),
    ):
        page.get_by_role("tab", name=tab).click()
        expect(where).to_contain_text(HTML)
    nothing_became_html(page)
    page.keyboard.press("Control+k")
    page.keyboard.type("<img")
    expect(page.get_by_role("option", name=HTML)).to_be_visible()
    page.goto("/alerts")
    expect(page.locator("tbody")).to_contain_text(f"watermark of {HTML}")
    page.goto("/")
    expect(page.locator("[data-job]", has_text=HTML)).to_contain_text("is no name")
    nothing_became_html(page)


def test_of_rows_and_charts(log_in: LogIn, served: Served) -> None:
    (served.folder / "fraud.dashboard.yaml").write_text(DASHBOARD)
    page = log_in("victor", "/views")
    page.get_by_role("tab", name="Query").click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(f"SELECT '{SCRIPT}' AS '{HTML}', 3 AS n")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".grid .cell").first).to_have_text(SCRIPT)
    page.get_by_role("button", name="Chart").click()
    hover(page, ".chart")
    nothing_became_html(page)
    page.goto("/dashboards")
    expect(page.locator("tbody")).to_contain_text(SCRIPT)
    page.goto("/dashboards/fraud")
    expect(page.get_by_role("heading", name=SCRIPT, exact=True)).to_be_visible()
    expect(page.locator(".panel", has_text="number").locator(".value")).to_have_text(SCRIPT)
    expect(page.locator(".panel", has_text="table").locator(".cell")).to_have_text(SCRIPT)
    expect(page.locator(".panel", has_text="fails").get_by_role("alert")).to_contain_text(HTML)
    for kind in ("bar", "map"):
        hover(page, f".panel:has(h2:text('{kind}'))")
    nothing_became_html(page)


def test_of_people(log_in: LogIn) -> None:
    page = log_in("ada", "/people")
    page.get_by_role("button", name="Add user").click()
    page.get_by_role("dialog").get_by_label("Name").fill(HTML)
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    expect(page.get_by_role("dialog").last).to_contain_text(f"Give it to {HTML}")
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name=f"Edit {HTML}").click()
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.locator(".q-notification", has_text=f"Changed {HTML}")).to_be_visible()
    nothing_became_html(page)
