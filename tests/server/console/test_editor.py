import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

LogIn = Callable[..., Page]

GOOD = "CREATE STREAM s (name STRING, price INT) WITH (connector = 'memory');\nSELECT price FROM s;"
WRONG = GOOD.replace("SELECT price", "SELECT prise")


def _write(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_a_mistake_is_marked_at_its_place_until_it_is_mended(log_in: LogIn) -> None:
    page = log_in("dana", "/editor")
    _write(page, WRONG)
    expect(page.locator(".cm-content .mistake")).to_have_text("prise")
    problem = page.locator(".verdict .problem")
    expect(problem).to_contain_text("line 2, column 8")
    expect(problem).to_contain_text('Did you mean "price"?')
    for _ in range(len(" FROM s;")):
        page.keyboard.press("ArrowLeft")
    for _ in "se":
        page.keyboard.press("Backspace")
    page.keyboard.type("ce")
    expect(page.locator(".cm-content .mistake")).to_have_count(0)
    expect(page.get_by_text("No mistake found")).to_be_visible()


def test_topology_and_explanation_follow_the_text(log_in: LogIn) -> None:
    page = log_in("dana", "/editor")
    _write(page, GOOD)
    expect(page.locator(".topology text", has_text="read stream s")).to_be_visible()
    _write(page, GOOD.replace("FROM s;", "FROM s WHERE price > 3;"))
    expect(page.locator(".topology text", has_text="keep rows where price > 3")).to_be_visible()
    page.get_by_role("tab", name="Explanation").click()
    expect(page.locator("pre.explained")).to_contain_text("keep rows where price > 3")


def test_own_keywords_are_highlighted_but_not_in_comments(log_in: LogIn) -> None:
    page = log_in("dana", "/editor")
    _write(page, "-- a STREAM of words\n" + GOOD)
    expect(page.locator(".tok-own")).to_have_text(["STREAM"])
    expect(page.locator(".tok-keyword", has_text="SELECT").first).to_be_visible()


def test_control_enter_runs_the_query_and_rows_come_in(log_in: LogIn) -> None:
    page = log_in("dana", "/editor")
    _write(page, GOOD)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(re.compile(r"^\d+ rows so far"))).to_be_visible()
    rows = page.locator(".editor-right .grid .row")
    expect(rows.nth(5)).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile(r"^Ended after \d+ rows"))).to_be_visible()


def test_the_text_of_a_job_is_looked_at_where_the_job_is(log_in: LogIn, served: object) -> None:
    text = f"CREATE FUNCTION twice(a INT) RETURNS INT LANGUAGE PYTHON AS 'own_twice:twice';\n{GOOD}"
    (served.folder / "own_twice.py").write_text("def twice(a):\n    return 2 * a\n")  # type: ignore[attr-defined]
    (served.folder / "twice.sql").write_text(text)  # type: ignore[attr-defined]
    page = log_in("dana", "/editor?application=twice")
    expect(page.get_by_text("No mistake found")).to_be_visible()
    expect(page.locator(".topology text", has_text="read stream s")).to_be_visible()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text(re.compile(r"^\d+ rows so far"))).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("dialog").get_by_label("Name")).to_have_value("twice")


def test_an_application_is_saved_opened_and_submitted(log_in: LogIn, served: object) -> None:
    page = log_in("dana", "/editor")
    _write(page, GOOD)
    page.keyboard.press("Control+s")
    page.get_by_label("Name").fill("prices")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="prices")).to_be_visible()
    expect(page.locator(".cm-content")).to_contain_text("SELECT price FROM s;")
    assert (served.folder / "prices.sql").read_text() == GOOD  # type: ignore[attr-defined]
    page.get_by_role("button", name="Submit").click()
    page.get_by_role("dialog").get_by_label("Name").fill("fraud-alerts")
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("there is already a job")
    page.get_by_role("dialog").get_by_label("Name").fill("a-prices")
    page.get_by_role("dialog").get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile("/jobs/a-prices"))
    expect(page.get_by_role("heading", name="a-prices")).to_be_visible()


def test_a_text_that_is_not_saved_survives_a_look_at_another_page(log_in: LogIn) -> None:
    page = log_in("dana", "/editor")
    _write(page, GOOD)
    expect(page.get_by_text("No mistake found")).to_be_visible()
    page.get_by_role("link", name="Views").click()
    expect(page.get_by_role("heading", name="Views")).to_be_visible()
    page.get_by_role("link", name="Editor").click()
    expect(page.locator(".cm-content")).to_contain_text("SELECT price FROM s;")
