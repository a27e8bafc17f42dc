from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Source
from headrace.testing.driver import START_AT
from headrace.testing.files import parse_file, read_file
from headrace.testing.runner import CaseResult, run_case, run_files

VIEW = "sql\ncount clicks by page as views\n"
CLICKS = '----\ningest clicks\n{"page": "/a"}\n{"page": "/b"}\n'


def run(text: str, engine: Any, **options: Any) -> CaseResult:
    (case,) = parse_file(Source("dir/x.test", text)).cases
    return run_case("dir/x.test", case, engine, **options)[0]


def diffs(result: CaseResult) -> list[str]:
    return [failure.diff for failure in result.failures]


def test_rows_in_any_order_pass_in_both_runs(engine: Any) -> None:
    result = run(VIEW + CLICKS + '----\nrows views\n{"page": "/b", "n": 1.0}\n{"page": "/a"}\n', engine)
    assert result.passed
    straight, resumed = engine.opened
    assert straight.calls == ["ingest", "close"]
    assert resumed.calls == ["ingest", "resume", "close"]


def test_the_seconds_are_the_timers(engine: Any) -> None:
    ticks = count(10, 5)
    assert run(VIEW, engine, timer=lambda: float(next(ticks))).seconds == 5.0


def test_a_case_that_is_not_fed_runs_once(engine: Any) -> None:
    assert run(VIEW + "----\ndrain\n----\ncrash\n----\nexplain views\nview views\n  count\n", engine).passed
    assert [driver.calls for driver in engine.opened] == [["drain", "crash", "close"]]


def test_one_of_the_runs_is_enough_if_it_is_asked_for(engine: Any) -> None:
    assert run(VIEW + CLICKS, engine, modes=("resumed",)).passed
    assert run(VIEW + CLICKS, engine, modes=("straight",)).passed
    assert run(VIEW + "----\ndrain\n", engine, modes=("resumed",)).passed  # not fed: there is nothing to resume
    calls = [driver.calls for driver in engine.opened]
    assert calls == [["ingest", "resume", "close"], ["ingest", "close"], ["drain", "close"]]


def test_the_engine_learns_what_will_be_asked(engine: Any) -> None:
    assert run(VIEW + "----\nrows views\n----\nchanges views\n----\nrows dead\n", engine).passed
    source, directory, relations = engine.asked[0]
    assert (source.name, directory, relations) == ("dir/x.test", Path("dir"), ("views", "dead"))
    assert source.text == "\ncount clicks by page as views\n"  # lines are those of the test file


def test_joined_blocks_are_one_batch(engine: Any) -> None:
    text = (
        "sql\ncount a by x as va\ncount b by x as vb\n"
        '----\ningest a\n{"x": 1}\n\n----\ningest+ b\r\n{"x": 2}\r\n----\ningest a\n'
    )
    assert run(text, engine).passed
    straight, resumed = engine.opened
    first = [("a", ('{"x": 1}',)), ("b", ('{"x": 2}',))]
    assert straight.batches == resumed.batches == [first, [("a", ())]]
    assert resumed.calls == ["ingest", "resume", "ingest", "resume", "close"]


def test_lines_that_do_not_parse_reach_the_engine(engine: Any) -> None:
    text = VIEW + '----\ningest clicks\n{"page": \n----\nrows dead\n{"raw": "{\\"page\\": "}\n'
    assert run(text, engine).passed


def test_the_clock_starts_at_the_first_instant(engine: Any) -> None:
    text = VIEW + "----\nat 2020-01-01T00:00:00Z\n----\nat 2021-01-01T00:00:00Z\n"
    assert run(text + '----\nrows clock\n{"at": "2021-01-01T01:00:00+01:00"}\n', engine).passed
    assert run(VIEW + '----\nrows clock\n{"at": "2024-01-01T00:00:00Z"}\n', engine).passed
    assert engine.opened[1].clock_at == START_AT == datetime(2024, 1, 1, tzinfo=UTC)


def test_missing_and_unwanted_rows_stand_side_by_side(engine: Any) -> None:
    text = VIEW + CLICKS + '----\nrows views\n{"page": "/a", "n": 2}\n{"page": "/b", "n": 1}\n'
    result = run(text, engine)
    assert [(failure.mode, failure.line, failure.directive) for failure in result.failures] == [
        ("straight", 8, "rows views"),
        ("resumed", 8, "rows views"),
    ]
    assert diffs(result)[0] == ('+ {"page": "/a", "n": 1}\n- {"page": "/a", "n": 2}\n  (1 row is as wanted)')


def test_only_named_columns_are_compared_and_shown(engine: Any) -> None:
    result = run(VIEW + CLICKS + '----\nrows views\n{"page": "/a"}\n{"page": "/c"}\n', engine)
    assert diffs(result)[0] == '+ {"page": "/b"}\n- {"page": "/c"}\n  (1 row is as wanted)'


def test_an_unknown_column_is_named(engine: Any) -> None:
    result = run(VIEW + CLICKS + '----\nrows views\n{"pag": "/a"}\n', engine)
    assert diffs(result)[0] == ('views has no column "pag". Did you mean "page"?\nthe columns of views are: page, n')


def test_exactly_wants_every_column(engine: Any) -> None:
    result = run(VIEW + CLICKS + '----\nrows exactly views\n{"page": "/a"}\n{"page": "/b"}\n', engine)
    assert diffs(result)[0] == (
        'views has a column "n" that is not in every wanted row\nthe columns of views are: page, n'
    )
    all_columns = '----\nrows exactly views\n{"n": 1, "page": "/a"}\n{"n": 1, "page": "/b"}\n'
    assert run(VIEW + CLICKS + all_columns, engine).passed


def test_no_rows_wanted(engine: Any) -> None:
    assert run(VIEW + "----\nrows views\n", engine).passed
    result = run(VIEW + CLICKS + "----\nrows views\n", engine)
    assert diffs(result)[0] == '+ {"page": "/a", "n": 1}\n+ {"page": "/b", "n": 1}'
    result = run(VIEW + '----\nrows views\n{"page": "/a"}\n', engine)
    assert diffs(result) == ['- {"page": "/a"}']


def test_a_long_diff_is_cut(engine: Any) -> None:
    lines = "".join(f'{{"page": "{n:03}"}}\n' for n in range(100))
    result = run(VIEW + "----\ningest clicks\n" + lines + "----\nrows views\n", engine)
    assert diffs(result)[0].count("\n") == 40
    assert diffs(result)[0].endswith("+ … and 60 more")


CHANGES = VIEW + (
    '----\ningest clicks\n{"page": "/a"}\n----\ningest clicks\n'
    '----\ningest clicks\n{"page": "/a"}\n{"page": "/b"}\n----\nchanges views\n'
)
RIGHT_CHANGES = (
    '{"page": "/a", "n": 1, "_change": "insert"}\n--\n'
    '{"page": "/a", "n": 1, "_change": "delete"}\n'
    '{"page": "/b", "n": 1, "_change": "insert"}\n'
    '{"page": "/a", "n": 2, "_change": "insert"}\n'
)


def test_changes_batch_by_batch_since_the_last_look(engine: Any) -> None:
    assert run(CHANGES + RIGHT_CHANGES + "----\nchanges views\n", engine).passed


def test_changes_in_another_batch_are_a_difference(engine: Any) -> None:
    result = run(CHANGES + RIGHT_CHANGES.replace("--\n", ""), engine)
    assert diffs(result)[0].startswith('batch 1:\n- {"page": "/a", "n": 1, "_change": "delete"}\n')
    assert "batch 2:\n+ " in diffs(result)[0]
    result = run(CHANGES + '{"pge": "/a", "_change": "insert"}\n', engine)
    assert diffs(result)[0].startswith('views has no column "pge". Did you mean "page"?')


def test_explain_is_compared_as_text(engine: Any) -> None:
    result = run(VIEW + "----\nexplain views\nview views\n  sum\n", engine)
    assert diffs(result) == [" view views\n-  sum\n+  count"]


WRONG = "sql\ncuont clicks by page as views\n"


def test_a_wanted_error(engine: Any) -> None:
    wanted = '----\nerror\nunknown word   "cuont"\n  cuont clicks\n  ^^^^^\nhint: Did you mean "count"?\n'
    assert run(WRONG + wanted, engine).passed
    assert run(WRONG + "----\nerror\nx.test:2:1\n", engine).passed


def test_another_error_than_wanted(engine: Any) -> None:
    result = run(WRONG + '----\nerror\nerror: unknown word "other"\n', engine)
    assert diffs(result) == [
        '-error: unknown word "other"\n+error: unknown word "cuont"\n'
        '+  cuont clicks by page as views\n+  ^^^^^\n+hint: Did you mean "count"?'
    ]
    in_wrong_order = '----\nerror\nhint: Did you mean "count"?\nerror: unknown word\n'
    assert not run(WRONG + in_wrong_order, engine).passed


def test_an_error_block_must_say_which_error(engine: Any) -> None:
    assert not run(WRONG + "----\nerror\n", engine).passed


def test_an_error_that_does_not_come(engine: Any) -> None:
    assert diffs(run(VIEW + "----\nerror\nunknown\n", engine)) == ["there was no error"]


def test_an_error_of_a_later_block_may_be_wanted(engine: Any) -> None:
    text = VIEW + "----\ningest nothing\n----\nerror\n"
    assert run(text + 'error: unknown stream "nothing"\n', engine).passed
    assert [driver.calls[-1] for driver in engine.opened] == ["close", "close"]


def test_an_error_that_nobody_wants_fails_its_block(engine: Any) -> None:
    result = run(WRONG + CLICKS, engine)
    assert [failure.line for failure in result.failures] == [1, 1]
    assert diffs(result)[0].startswith('error: unknown word "cuont"\n  dir/x.test:2:1\n  2 | cuont')
    result = run(VIEW + "----\nrows nothing\n----\nrows views\n{}\n", engine)
    assert diffs(result) == ['error: unknown view "nothing"']


def test_a_bug_fails_the_case_with_its_traceback(engine: Any) -> None:
    result = run(VIEW + "----\ningest clicks\nexplode\n", engine)
    assert "RuntimeError: a bug in the engine" in diffs(result)[0]
    assert engine.opened[0].calls[-1] == "close"


def test_a_resumed_run_that_differs_is_told(forgetful_engine: Any) -> None:
    text = VIEW + CLICKS + CLICKS + '----\nrows views\n{"page": "/a", "n": 2}\n{"page": "/b", "n": 2}\n'
    result = run(text, forgetful_engine)
    assert {failure.mode for failure in result.failures} == {"resumed"}


def test_an_application_file(tmp_path: Path, engine: Any) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "my app.sql").write_text("count clicks by page as views")
    path = tmp_path / "a.test"
    path.write_text("application apps/my app.sql\n----\nrows views\n====\napplication none.sql\n")
    there, missing = run_files([read_file(path)], engine)
    assert there.passed
    assert engine.asked[0][:2] == (
        Source(str(tmp_path / "apps" / "my app.sql"), "count clicks by page as views"),
        tmp_path / "apps",
    )
    assert "cannot read" in missing.failures[0].diff
    assert ":5:13\n" in missing.failures[0].diff


def rewritten(text: str, engine: Any, tmp_path: Path) -> tuple[str, list[CaseResult]]:
    path = tmp_path / "a.test"
    path.write_bytes(text.encode())
    results = list(run_files([read_file(path)], engine, rewrite=True))
    return path.read_bytes().decode(), results


def test_rewriting_accepts_what_the_straight_run_gave(tmp_path: Path, engine: Any) -> None:
    before = (
        "# kept\n" + CHANGES + '{"page": "/x", "_change": "insert"}\n\n----\nrows views\n----\n'
        'rows views\n{"n": 3}\n----\nrows exactly views\n{"n": 3}\n----\nexplain views\n====\n' + WRONG + "----\nerror"
    )
    after, results = rewritten(before, engine, tmp_path)
    assert after == (
        "# kept\n" + CHANGES + '{"page": "/a", "_change": "insert"}\n--\n{"page": "/a", "_change": "delete"}\n'
        '{"page": "/a", "_change": "insert"}\n{"page": "/b", "_change": "insert"}\n\n'
        '----\nrows views\n{"page": "/a", "n": 2}\n{"page": "/b", "n": 1}\n'
        '----\nrows views\n{"n": 1}\n{"n": 2}\n'
        '----\nrows exactly views\n{"page": "/a", "n": 2}\n{"page": "/b", "n": 1}\n'
        "----\nexplain views\nview views\n  count\n====\n" + WRONG + '----\nerror\nerror: unknown word "cuont"\n'
        '  cuont clicks by page as views\n  ^^^^^\nhint: Did you mean "count"?\n'
    )
    assert [(result.passed, result.rewritten) for result in results] == [(True, 5), (True, 1)]
    again, results = rewritten(after, engine, tmp_path)
    assert again == after
    assert [(result.passed, result.rewritten) for result in results] == [(True, 0), (True, 0)]


def test_rewriting_leaves_what_passes(tmp_path: Path, engine: Any) -> None:
    text = VIEW + CLICKS + '----\nrows views\n{"page":"/b"}\n{"page":"/a"}\n'
    assert rewritten(text, engine, tmp_path)[0] == text


def test_rewriting_does_not_hide_an_error_or_a_resumed_run_that_differs(tmp_path: Path, forgetful_engine: Any) -> None:
    text = VIEW + CLICKS + CLICKS + "----\nrows views\n----\nrows nothing\n"
    after, (result,) = rewritten(text, forgetful_engine, tmp_path)
    assert '{"page": "/a", "n": 2}' in after
    assert [(failure.mode, failure.directive) for failure in result.failures] == [
        ("straight", "rows nothing"),
        ("resumed", "rows views"),
        ("resumed", "rows nothing"),
    ]


def test_without_rewrite_the_file_stays(tmp_path: Path, engine: Any) -> None:
    path = tmp_path / "a.test"
    path.write_text(VIEW + CLICKS + "----\nrows views\n")
    file = read_file(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "write_bytes", None)
        assert not next(run_files([file], engine)).passed
        assert len(list(run_files([file], engine))) == 1
