"""Figures as they travel through the heartbeat file."""

from datetime import UTC, datetime, timedelta

from headrace.jobs.figures import History, Meter, as_dict, from_dict
from headrace.spark.progress import Progress

NOW = datetime(2024, 1, 1, tzinfo=UTC)


def test_figures_come_back_as_they_were():
    progress = Progress("totals", batch=3, rows_in=10, rows_out=4, dead=1, late=2)
    progress.batch_time, progress.watermark_at = timedelta(milliseconds=250), NOW - timedelta(seconds=5)
    progress.latency = timedelta(milliseconds=400)
    progress.seen, progress.dead_of = {"orders": 10}, {"orders": 1}
    progress.lag, progress.positions = {"t:0": 7}, {"t:0": 99}
    progress.observed, progress.observed_totals, progress.idle = {"o": {"n": 1.0, "m": None}}, {"o": {"n": 5.0}}, True
    progress.timed, progress.state_memory, progress.under_way = ("orders",), 900, timedelta(seconds=7)
    progress.operators = {"0 join": {"rows": 5.0, "updated": 1.0, "bytes": 70.0, "seconds": 0.25}}
    meter = Meter()
    meter.measure(progress, NOW - timedelta(seconds=2))
    progress.rows_in = 30
    figures = meter.measure(progress, NOW)
    assert figures.in_per_second == 10
    assert figures.behind == 7
    assert from_dict(as_dict(figures)) == figures
    assert from_dict({"name": "old version"}).batch == -1
    assert from_dict({"name": "old version"}).timed is None


def test_a_batch_is_under_way_until_the_next_report_or_a_pause():
    progress, seen = Progress("totals"), []
    for second, busy, batch in [
        (0, True, -1),
        (9, True, -1),
        (10, True, 0),
        (15, True, 0),
        (16, False, 1),
        (17, True, 1),
    ]:
        progress.batch = batch
        progress.look(busy, timedelta(seconds=second))
        seen.append(progress.under_way.total_seconds())
    assert seen == [0, 9, 0, 5, 0, 0]


def test_a_batch_in_real_time_mode_is_meant_to_last():
    progress = Progress("totals", lasts=timedelta(minutes=5))
    progress.look(True, timedelta(0))
    progress.look(True, timedelta(minutes=5))
    assert progress.under_way == timedelta(0)
    progress.look(True, timedelta(minutes=6))
    assert progress.under_way == timedelta(minutes=1)


def test_history_is_bounded_in_time_and_in_points():
    history = History()
    for second in range(3600):
        history.add([{"name": "a", "in_per_second": second}], NOW + timedelta(seconds=second))
    assert 145 <= len(history.points) <= 152
    assert history.points[-1].at - history.points[0].at <= timedelta(minutes=5)
    assert [each.at for each in History.from_list(history.as_list()).points] == [each.at for each in history.points]


def test_history_survives_a_clock_that_is_set_back_and_a_file_that_is_none():
    history = History()
    history.add([], NOW)
    assert history.add([], NOW - timedelta(hours=1))
    assert [each.at for each in history.points] == [NOW - timedelta(hours=1)]
    assert not History.from_list({"nonsense": 1}).points


def test_what_is_observed_is_of_the_last_batch_and_counts_add_up():
    progress = Progress("totals", adds_up=frozenset({("value", "n")}))
    for batch, (n, largest) in enumerate([(2, 70), (0, None), (1, 5)]):
        progress.take({"batchId": batch, "measured": {"value": {"n": n, "largest": largest}}})
        progress.take({"batchId": batch, "measured": {"value": {"n": 1000, "largest": 1000}}})
    progress.take({"batchId": 3, "read": 0, "measured": {"value": {"n": 0, "largest": None}}})
    assert progress.observed == {"value": {"n": 1.0, "largest": 5.0}}
    assert progress.observed_totals == {"value": {"n": 3.0}}
