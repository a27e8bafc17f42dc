from datetime import UTC, datetime, timedelta

from headrace import Application
from headrace.cli.status import Meter, dead_notices, lag_notices, status_line
from headrace.spark.counting import Counts
from headrace.spark.progress import Progress

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def report(batch, **changes):
    return {
        "batchId": batch,
        "processedRowsPerSecond": 10.0,
        "batchDuration": 210,
        "stateOperators": [],
        "eventTime": {},
        **changes,
    }


def test_rates_are_measured_over_the_last_seconds():
    meter = Meter(timedelta(seconds=5))
    progress = Progress("q")
    for second in range(12):
        progress.rows_in, progress.rows_out = second * 100, second * 10
        figures = meter.measure(progress, NOON + timedelta(seconds=second))
    assert figures.in_per_second == 100
    assert figures.out_per_second == 10
    assert len(meter.samples["q"]) <= 7


def test_the_first_measure_has_no_rate():
    assert Meter().measure(Progress("q", rows_in=5), NOON).in_per_second == 0


def test_a_status_line_tells_the_watermark_and_its_lag():
    progress = Progress("q", batch=3, watermark_at=NOON - timedelta(seconds=3))
    line = status_line(Meter().measure(progress, NOON), NOON)
    assert "batch 3" in line
    assert "watermark 11:59:57 (lag 3 s)" in line
    older = Progress("q", watermark_at=NOON - timedelta(days=1))
    line = status_line(Meter().measure(older, NOON), NOON)
    assert "waiting" in line
    assert "watermark 2023-12-31 12:00:00 (lag 1 d 0 h)" in line


def test_the_size_of_state_is_that_of_its_files_once_there_are_some():
    progress = Progress("q")
    sizes = []
    for batch, (memory, files) in enumerate([(700, 0), (900, 300), (5000, 310)]):
        metrics = {"rocksdbSstFileSize": files}
        operators = [{"operatorName": "save", "memoryUsedBytes": memory, "customMetrics": metrics}] * 2
        progress.take(report(batch, stateOperators=operators))
        sizes.append((progress.state_bytes, progress.state_memory, progress.operators["1 save"]["bytes"]))
    assert sizes == [(1400, 1400, 700), (600, 1800, 300), (620, 10000, 310)]


def test_patterns_are_told_apart():
    progress = Progress("q", state_names=["pattern scans", None, "pattern bursts", "pattern scans"])
    operators = [{"operatorName": "save", "numRowsTotal": n, "memoryUsedBytes": 10 * n} for n in (1, 2, 4, 8)]
    progress.take(report(0, stateOperators=operators))
    assert {name: each["rows"] for name, each in progress.operators.items()} == {
        "pattern scans": 9,  # a view that the query reads twice
        "1 save": 2,
        "pattern bursts": 4,
    }
    assert progress.operators["pattern bursts"]["bytes"] == 40
    line = status_line(Meter().measure(progress, NOON), NOON)
    assert "state 15 rows 150 B (scans 9, bursts 4) late 0" in line
    progress.take(report(1, stateOperators=operators[:2]))  # of another shape than was looked at
    assert list(progress.operators) == ["0 save", "1 save"]


def test_figures_add_up_and_a_report_counts_once():
    progress = Progress("q")
    operator = {"operatorName": "join", "numRowsDroppedByWatermark": 2, "numRowsTotal": 5, "memoryUsedBytes": 70}
    operator |= {"numRowsUpdated": 3, "allUpdatesTimeMs": 200, "allRemovalsTimeMs": 30, "commitTimeMs": 20}
    progress.take(report(0, stateOperators=[operator]))
    progress.take(report(0, stateOperators=[operator]))
    progress.take(report(1, stateOperators=[operator]))
    progress.count(Counts({"s": 5, "t": 1}, {"s": 2, "t": 0}, given=3))
    progress.count(Counts({"s": 1}, {"s": 1}, given=0))
    assert (progress.late, progress.state_rows, progress.state_bytes) == (4, 5, 70)
    assert progress.operators == {"0 join": {"rows": 5, "updated": 3, "bytes": 70, "memory": 70, "seconds": 0.25}}
    assert (progress.rows_in, progress.dead) == (7, 3)
    assert progress.seen == {"s": 6, "t": 1}
    assert progress.dead_of == {"s": 3, "t": 0}


def test_latency_is_the_longest_wait_of_a_row():
    progress = Progress("q", every=timedelta(seconds=1))

    def take(batch, began, **changes):
        at = (NOON + timedelta(seconds=began)).isoformat().replace("+00:00", "Z")
        progress.take(report(batch, timestamp=at, batchDuration=1500, **changes))
        return progress.latency.total_seconds()

    assert take(0, 0) == 1 + 1.5  # since the query looked last, and found nothing
    assert take(1, 2) == 2 + 1.5  # since the batch before began, which nothing came between
    assert take(2, 60) == 1 + 1.5
    assert take(3, 62, read=0) == 2.5  # a batch without rows: nobody waited
    assert take(4, 64) == 3.5


def test_dead_records_are_told_once_for_each_stream():
    plan = Application().sql("CREATE STREAM Clicks (x INT) WITH (connector = 'memory')").plan
    figures = [Progress("a", dead_of={"clicks": 1}), Progress("b", dead_of={"clicks": 3})]
    known: set[str] = set()
    told = ["3 records of Clicks did not parse; see: SELECT * FROM Clicks.dead"]
    assert list(dead_notices(figures, plan, known)) == told
    assert list(dead_notices(figures, plan, known)) == []
    assert list(dead_notices(figures, plan)) == told
    assert list(dead_notices([Progress("a", dead_of={"clicks": 0})], plan)) == []


def test_lag_is_summed_and_told_until_it_is_caught_up():
    plan = (
        Application()
        .sql("CREATE STREAM bids (x INT) WITH (connector = 'kafka', topic = 'bids', lag_warning = 100)")
        .plan
    )
    behind = [Progress("a", lag={"bids:0": 90, "bids:1": 20, "other:0": 1000}), Progress("b", lag={"bids:0": 10})]
    known: set[str] = set()
    text = "bids is 110 messages behind its topics; the most in bids:0: 90"
    assert list(lag_notices(behind, plan, known)) == [text]
    assert list(lag_notices(behind, plan, known)) == []
    assert list(lag_notices([Progress("a", lag={"bids:0": 100})], plan, known)) == []
    assert list(lag_notices(behind, plan, known)) == [text]
    assert "behind 1110" in status_line(Meter().measure(behind[0], NOON), NOON)


def test_offsets_of_kafka_become_positions_and_lag():
    progress = Progress("q")
    source = {
        "description": "KafkaV2[Subscribe[bids]]",
        "endOffset": '{"bids": {"0": 7, "1": 9}}',
        "latestOffset": '{"bids": {"0": 10, "1": 9}}',
    }
    files = {"description": "FileStreamSource[x]", "endOffset": '{"logOffset": 0}', "latestOffset": None}
    progress.take({"batchId": 0, "sources": [source, files]})
    assert progress.positions == {"bids:0": 7, "bids:1": 9}
    assert progress.lag == {"bids:0": 3, "bids:1": 0}
