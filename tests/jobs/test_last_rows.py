from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace.jobs.folder import JobFolder
from headrace.jobs.last_rows import LONGEST_ROW, MOST_ROWS, LastRows
from headrace.views.store import Change

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_last_rows_are_kept_and_read_again(tmp_path: Path) -> None:
    now = NOON
    rows = LastRows(clock=lambda: now)
    assert rows.changed() is None
    rows.take("query_1", 0, [])
    assert rows.changed() is None
    rows.take("query_1", 1, [Change("insert", {"n": 1, "at": NOON}), Change("delete", {"n": 2, "at": None})])
    now += timedelta(seconds=1)
    rows.take("printed", 7, [Change("insert", {"text": "…" * LONGEST_ROW})])
    folder = JobFolder(tmp_path).make()
    assert folder.last_rows() == []
    folder.write_last_rows(rows.changed() or [])
    first, second, third = folder.last_rows()
    assert (first.output, first.batch, first.change) == ("query_1", 1, "insert")
    assert first.row == '{"n": 1, "at": "2026-01-01T12:00:00Z"}'
    assert (second.change, third.at) == ("delete", "2026-01-01T12:00:01+00:00")
    assert len(third.row) == LONGEST_ROW + 1


def test_the_oldest_rows_fall_out() -> None:
    rows = LastRows(clock=lambda: NOON)
    rows.take("q", 0, [Change("insert", {"n": n}) for n in range(MOST_ROWS + 50)])
    kept = rows.changed() or []
    assert [each.row for each in kept[:1] + kept[-1:]] == ['{"n": 50}', f'{{"n": {MOST_ROWS + 49}}}']
    rows.take("q", 1, [Change("insert", {"n": -1})])
    kept = rows.changed() or []
    assert (len(kept), kept[-1].row) == (MOST_ROWS, '{"n": -1}')


def test_a_file_that_somebody_has_spoilt_has_no_rows(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path).make()
    for text in ("", "[]", '{"rows": 1}', '{"rows": [1, {"output": "q"}]}'):
        (tmp_path / "rows.json").write_text(text)
        assert folder.last_rows() == []
