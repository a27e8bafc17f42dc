"""What a new version does to the state of the old one."""

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.states import State
from headrace.jobs.texts import plan_text
from headrace.jobs.upgrade import Fate, clear, compare
from headrace.views.definition import Delta, Reflects, ViewColumn, ViewDefinition
from headrace.views.sqlite import SqliteViewStore

SOURCES = """
CREATE STREAM s (k STRING, v INT) WITH (connector = 'memory');
CREATE STREAM t (k STRING, v INT) WITH (connector = 'memory');
"""
SUMS = "CREATE MATERIALIZED VIEW sums AS SELECT k, sum(v) AS total FROM s GROUP BY k;"
COUNTS = "CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM s GROUP BY k;"
OTHERS = "CREATE MATERIALIZED VIEW others AS SELECT k, max(v) AS most FROM t GROUP BY k;"
BIG = "CREATE SINK big WITH (connector = 'files', path = 'out') AS SELECT k FROM t WHERE v > 10;"


def compared(tmp_path, old, new, **more):
    plans = [plan_text(SOURCES + text, "app", tmp_path, {}) for text in (old, new)]
    return compare(*plans, **more)


def fates(report):
    return {change.output: change.fate for change in report.changes}


def why(report, output):
    return next(change.why for change in report.changes if change.output == output)


def test_the_same_text_in_another_layout_keeps_everything(tmp_path):
    report = compared(tmp_path, SUMS + OTHERS + BIG, f"-- new\n{SUMS.lower()}\n\n{OTHERS}{BIG}")
    assert fates(report) == {"sums": Fate.KEEPS, "others": Fate.KEEPS, "big": Fate.KEEPS}
    assert (report.clear, report.views) == ((), ())
    assert why(report, "sums") == "its query is the same"


def test_a_changed_query_is_rebuilt_and_others_keep_theirs(tmp_path):
    report = compared(tmp_path, SUMS + BIG + OTHERS, SUMS + BIG.replace("10", "20") + OTHERS)
    assert fates(report) == {"sums": Fate.KEEPS, "big": Fate.REBUILT, "others": Fate.KEEPS}
    assert why(report, "big") == "its query changed: -keep rows where v > 10 | +keep rows where v > 20"
    assert (report.clear, report.views) == (("big",), ())


def test_outputs_that_share_a_source_keep_or_lose_together(tmp_path):
    changed = COUNTS.replace("count(*)", "count(v)")
    report = compared(tmp_path, SUMS + COUNTS + OTHERS, SUMS + changed + OTHERS)
    assert fates(report) == {"sums": Fate.REBUILT, "counts": Fate.REBUILT, "others": Fate.KEEPS}
    assert why(report, "sums") == (
        "outputs that share a source are one query, with one state: it is one with counts, and counts changed"
    )
    assert why(report, "counts").startswith("its query changed: ")
    assert report.clear == ("sums+1",)


def test_an_output_that_joins_or_leaves_a_query_takes_the_others_with_it(tmp_path):
    report = compared(tmp_path, SUMS + OTHERS, SUMS + COUNTS + OTHERS)
    assert fates(report) == {"sums": Fate.REBUILT, "counts": Fate.NEW, "others": Fate.KEEPS}
    assert why(report, "sums").endswith("it is one with counts, and counts joined them")
    assert why(report, "counts") == "there was no such output; it is one query with sums"
    assert (report.clear, report.views) == (("sums",), ())
    report = compared(tmp_path, SUMS + COUNTS + OTHERS, SUMS + OTHERS)
    assert fates(report) == {"sums": Fate.REBUILT, "others": Fate.KEEPS, "counts": Fate.REMOVED}
    assert why(report, "sums").endswith("it is one with counts, and counts left them")


def test_a_removed_output_is_cleared_with_its_rows(tmp_path):
    report = compared(tmp_path, SUMS + OTHERS, SUMS)
    assert fates(report) == {"sums": Fate.KEEPS, "others": Fate.REMOVED}
    assert (report.clear, report.views) == (("others",), ("others",))


def test_partitions_and_places_rebuild_everything(tmp_path):
    report = compared(tmp_path, SUMS, "SET shuffle_partitions = 4;" + SUMS)
    assert why(report, "sums") == "SET shuffle_partitions went from 2 to 4"
    report = compared(tmp_path, SUMS, SUMS, same_place=False)
    assert fates(report) == {"sums": Fate.REBUILT}


def test_a_view_that_moves_to_another_store_is_rebuilt(tmp_path):
    moved = SUMS.replace("VIEW sums AS", "VIEW sums WITH (store = 'redis') AS")
    report = compared(tmp_path, SUMS, moved)
    assert why(report, "sums") == "it is kept in another place, or for another time"


def test_clearing_deletes_what_is_rebuilt_and_nothing_else(tmp_path):
    state = tmp_path / "app"
    for name in ("sums", "others", "big"):
        (state / name / "checkpoint").mkdir(parents=True)
    store = SqliteViewStore(state / "views.sqlite")
    column = (ViewColumn("k", "string"),)
    for name in ("sums", "others"):
        store.define(f"app.{name}", [ViewDefinition(name, column)])
        store.take(f"app.{name}", 0, {name: Delta(inserted=[("a",)])}, Reflects())
    store.close()
    for _ in range(2):
        clear(state, ["others", "big"], ["others"], "app")
        assert sorted(each.name for each in state.iterdir() if each.is_dir()) == ["sums"]
        left = SqliteViewStore(state / "views.sqlite", read_only=True)
        assert [view.name for view in left.views()] == ["sums"]
        left.close()


def test_a_running_job_goes_on_as_its_new_version(yard):
    yard.submit(text=SOURCES + SUMS + OTHERS)
    job = yard.tick_until("orders", State.RUNNING)
    state = yard.jobs.folder_of(job).state_path / "orders"
    for name in ("sums", "others"):
        (state / name / "checkpoint").mkdir(parents=True)
    text = SOURCES + SUMS + OTHERS.replace("max", "min")
    report = yard.jobs.upgrade_report("orders", text=text)
    assert {change.output: change.fate for change in report} == {"sums": Fate.KEEPS, "others": Fate.REBUILT}
    assert yard.jobs.show("orders") == job, "a report changes nothing"
    upgraded = yard.jobs.upgrade("orders", "upgrade-1", text=text)
    assert yard.jobs.upgrade("orders", "upgrade-1", text=text) == upgraded
    yard.tick_until("orders", State.STOPPING)
    job = yard.tick_until("orders", State.RUNNING)
    assert (job.version, job.ran_version, job.attempt, job.pending) == (2, 2, 2, None)
    assert (state / "sums").exists()
    assert not (state / "others").exists()
    folder = yard.jobs.folder_of(job)
    assert folder.application_path.read_text() == text
    assert [version.number for version in yard.jobs.versions("orders")] == [2, 1]
    assert folder.launch().variables == {"BEHAVE": "run"}, "variables are kept unless new ones are given"


def test_two_upgrades_before_a_start_are_compared_with_what_the_state_is_of(yard):
    yard.submit(text=SOURCES + SUMS)
    yard.tick_until("orders", State.RUNNING)
    yard.jobs.upgrade("orders", "upgrade-1", text=SOURCES + SUMS.replace("sum(v)", "max(v)"))
    report = yard.jobs.upgrade_report("orders", text=SOURCES + SUMS)
    assert [change.fate for change in report] == [Fate.KEEPS]
    yard.jobs.upgrade("orders", "upgrade-2", text=SOURCES + SUMS)
    yard.tick_until("orders", State.STOPPING)
    assert yard.tick_until("orders", State.RUNNING).version == 3


def test_a_mistake_in_the_new_version_leaves_the_old_one_running(yard):
    yard.submit()
    job = yard.tick_until("orders", State.RUNNING)
    with pytest.raises(HeadraceError):
        yard.jobs.upgrade("orders", "upgrade-1", text="SELECT nonsense FROM nowhere")
    yard.server.tick()
    assert yard.jobs.show("orders") == job
