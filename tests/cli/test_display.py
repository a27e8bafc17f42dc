import io
from datetime import UTC, datetime

from rich.console import Console

from headrace import Application
from headrace.cli.lines import Lines
from headrace.cli.live import Live, Recent
from headrace.cli.once import Result, print_results
from headrace.cli.shown import shown_outputs
from headrace.spark.progress import Progress
from headrace.views.store import Change

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
STREAM = "CREATE STREAM s (k STRING, n INT) WITH (connector = 'memory');"
CHANGING = STREAM + "SELECT k, count(*) AS n FROM s GROUP BY k;"
FIXED = STREAM + "SELECT k, n FROM s;"


def shown_of(text, *, changes=False):
    plan = Application().sql(text).plan
    return plan, {each.name: each for each in shown_outputs(plan, changes=changes)}


def printed(text, output, *batches, changes=False):
    stream = io.StringIO()
    _, shown = shown_of(text, changes=changes)
    lines = Lines(shown, output, closed=lambda: None, stream=stream)
    for number, (name, batch) in enumerate(batches):
        lines.take(name, number, batch)
    return stream.getvalue()


def inserted(k, n):
    return Change("insert", {"k": k, "n": n})


def deleted(k, n):
    return Change("delete", {"k": k, "n": n})


def test_only_changing_rows_say_how_they_changed():
    assert printed(FIXED, "json", ("query_1", [inserted("a", 1)])) == '{"k": "a", "n": 1}\n'
    assert (
        printed(FIXED, "json", ("query_1", [inserted("a", 1)]), changes=True)
        == '{"k": "a", "n": 1, "_change": "insert"}\n'
    )
    assert printed(CHANGING, "json", ("query_1", [inserted("b", 1), inserted("a", 2), deleted("a", 1)])) == (
        '{"k": "a", "n": 1, "_change": "delete"}\n'
        '{"k": "a", "n": 2, "_change": "insert"}\n'
        '{"k": "b", "n": 1, "_change": "insert"}\n'
    )


def test_csv_has_its_header_once():
    text = printed(FIXED, "csv", ("query_1", [inserted("a", 1)]), ("query_1", [inserted("b", None)]))
    assert text == "k,n\na,1\nb,\n"


def test_a_table_grows_line_by_line():
    text = printed(FIXED, "table", ("query_1", [inserted("a", 1)]), ("query_1", [inserted("long", 20)]))
    assert text == " k | n\n---+---\n a | 1\n long | 20\n"


def test_several_outputs_name_themselves_when_they_take_turns():
    text = printed(
        FIXED + "SELECT k FROM s;",
        "table",
        ("query_1", [inserted("a", 1)]),
        ("query_2", [Change("insert", {"k": "b"})]),
    )
    assert text == "query_1\n k | n\n---+---\n a | 1\nquery_2\n k\n---\n b\n"


def test_a_console_sink_shows_a_part_of_each_batch():
    sink = "CREATE SINK c WITH (connector = 'console', rows = 1) AS SELECT k, n FROM s;"
    batch = [inserted("x" * 100, 1), inserted("y", 2)]
    text = printed(STREAM + sink, "table", ("c", batch))
    assert f" {'x' * 39}… | 1\n" in text
    assert text.endswith(" ... and 1 more rows\n")
    assert printed(STREAM + sink, "json", ("c", batch)).count("\n") == 2


def test_a_closed_pipe_asks_for_the_end_once(monkeypatch):
    class Closed(io.StringIO):
        def write(self, _text):
            raise BrokenPipeError

    silenced, ended = [], []
    monkeypatch.setattr("headrace.cli.lines.silence", lambda: silenced.append(1))
    _, shown = shown_of(FIXED)
    lines = Lines(shown, "json", closed=lambda: ended.append(1), stream=Closed())
    lines.take("query_1", 0, [inserted("a", 1)])
    lines.take("query_1", 1, [inserted("b", 1)])
    assert (silenced, ended) == ([1], [1])


def test_rows_that_are_withdrawn_leave_the_picture():
    _, shown = shown_of(CHANGING)
    recent = Recent(shown["query_1"])
    recent.remember([{"k": "z", "n": 9}])
    recent.take([inserted("b", 1), inserted("a", 1)])
    recent.take([deleted("a", 1), inserted("a", 2)])
    assert recent.newest(20) == [{"k": "a", "n": 2}, {"k": "b", "n": 1}, {"k": "z", "n": 9}]
    assert recent.count == 3


def test_an_ordered_query_is_shown_in_its_order():
    _, shown = shown_of(STREAM + "SELECT k, count(*) AS n FROM s GROUP BY k ORDER BY n DESC LIMIT 2;")
    recent = Recent(shown["query_1"])
    recent.take([inserted("a", 1), inserted("b", 3)])
    recent.take([deleted("a", 1), inserted("c", 2)])
    assert [row["k"] for row in recent.newest(20)] == ["b", "c"]


def picture(width, height):
    plan, shown = shown_of(FIXED)
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    live = Live("app", plan, shown, console=console)
    live.take("query_1", 0, [inserted(f"key {number:02}", number) for number in range(50)])
    live.tick([Progress("query_1", batch=4, rows_in=1200, dead_of={"s": 2}, watermark_at=NOON)], NOON)
    console.print(live.picture())
    return console.file.getvalue()


def test_the_picture_shows_condition_and_newest_rows():
    text = picture(130, 50)
    assert "1,200" in text
    assert "12:00:00" in text
    assert "2 records of s did not parse; see: SELECT * FROM s.dead" in text
    assert "query_1: 50 rows, the last 20" in text
    assert "key 49" in text and "key 30" in text and "key 29" not in text


def test_the_picture_fits_a_small_terminal():
    text = picture(80, 24)
    assert "in 1200" in text
    assert len(text.splitlines()) <= 24
    assert "key 49" in text


def test_results_follow_each_other():
    stream = io.StringIO()
    _, shown = shown_of(FIXED + "SELECT k FROM s;")
    results = [
        Result(("plan",), [{"plan": "-> read"}]),
        Result(("k", "n"), [{"k": "a", "n": 1}], shown["query_1"]),
        Result(("k",), [], shown["query_2"]),
    ]
    print_results(results, "table", stream)
    assert stream.getvalue() == ("-> read\n\nquery_1\n k | n\n---+---\n a | 1\n(1 row)\n\nquery_2\n k\n---\n(0 rows)\n")
    stream = io.StringIO()
    print_results(results, "json", stream)
    assert stream.getvalue() == '{"plan": "-> read"}\n{"k": "a", "n": 1}\n'
