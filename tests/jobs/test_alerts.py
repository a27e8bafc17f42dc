"""Rules over figures: what begins, what ends, and how long it must have lasted."""

import json
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from headrace.errors import HeadraceError
from headrace.jobs.alarms import Alarms
from headrace.jobs.alert_book import AlertBook
from headrace.jobs.alerts import Alert, Memory, evaluate, resumed
from headrace.jobs.decisions import Wanted
from headrace.jobs.figures import from_dict
from headrace.jobs.metrics import Sample, exposition
from headrace.jobs.model import Job
from headrace.jobs.reports import Report
from headrace.jobs.rules import BatchStuck, CrashLoop, DeadRows, LagAbove, StateGrowth, WatermarkStuck, rule_of
from headrace.jobs.states import State
from headrace.jobs.webhooks import Webhooks
from headrace.records.database import Database
from support.job_yard import MovingClock
from support.waiting import until

NOW = datetime(2024, 1, 1, tzinfo=UTC)
JOB = Job(
    id="1",
    name="orders",
    owner=None,
    state=State.RUNNING,
    wanted=Wanted.RUN,
    reason="running",
    error=None,
    version=1,
    ran_version=1,
    attempt=1,
    restarts=(),
    restart_count=0,
    waits=0,
    launch_at=None,
    since=NOW,
    submitted_at=NOW,
    queued_at=NOW,
    cores=1,
    memory=1024,
    master=None,
    savepoint=None,
    pending=None,
    deleted_at=None,
    revision=1,
)


class Watching:
    """Rules, and a clock that moves by what is asked for."""

    def __init__(self, *rules):
        self.rules, self.memory, self.passed = rules, Memory(), timedelta(0)

    def see(self, after=0, job=JOB, **figures):
        return self.look(after, job, from_dict({"name": "totals", "batch": 0, **figures}))

    def look(self, after, job, *figures):
        self.passed += timedelta(seconds=after)
        sample = Sample(job, figures)
        return [
            (alert.firing, alert.message)
            for alert in evaluate(self.rules, [sample], self.memory, NOW + self.passed, self.passed)
        ]


def test_lag_must_last_and_is_told_once_and_once_when_it_is_over():
    watching = Watching(LagAbove(name="behind", messages=100, lasting=timedelta(seconds=30)))
    assert watching.see(behind=101) == []
    assert watching.see(29, behind=500) == []
    assert watching.see(1, behind=500) == [(True, "500 messages are still to be read")]
    assert watching.see(60, behind=900) == []
    assert watching.see(1, behind=100) == [(False, "no longer: 500 messages are still to be read")]
    assert watching.see(1, behind=101) == []
    assert watching.see(1, behind=None) == []
    assert watching.see(29, behind=101) == [], "it has to last anew"


def test_a_restart_neither_ends_nor_begins_what_is_told_by_figures():
    watching = Watching(LagAbove(name="behind", messages=100), DeadRows(name="dead"))
    assert watching.see(behind=10) == []
    assert [firing for firing, _ in watching.see(1, behind=500, dead=4)] == [True, True]
    assert watching.see(1, job=replace(JOB, state=State.RESTARTING), behind=500, dead=4) == []
    assert watching.look(1, replace(JOB, state=State.STARTING)) == []
    assert watching.look(1, JOB) == [], "no figures yet"
    assert watching.see(1, batch=-1) == [], "no batch yet"
    assert watching.see(1, behind=400) == [], "dead records of the last driver count, too"
    assert [firing for firing, _ in watching.see(1, behind=0)] == [False]
    assert [firing for firing, _ in watching.see(300, behind=0)] == [False]
    assert watching.see(1, job=replace(JOB, state=State.RESTARTING), behind=500) == [], "old figures begin nothing"


def test_what_is_told_by_figures_ends_with_the_job():
    watching = Watching(LagAbove(name="behind", messages=100))
    assert [firing for firing, _ in watching.see(behind=500)] == [True]
    assert watching.see(1, job=replace(JOB, state=State.STOPPING), behind=500) == []
    assert [firing for firing, _ in watching.look(1, replace(JOB, state=State.STOPPED))] == [False]


def test_a_watermark_does_not_stand_still_while_no_driver_runs():
    watching = Watching(WatermarkStuck(name="stuck", lasting=timedelta(minutes=5)))
    at = "2024-01-01T00:00:00+00:00"
    assert watching.see(watermark_at=at) == []
    for _ in range(10):
        assert watching.look(60, replace(JOB, state=State.RESTARTING)) == []
    assert watching.see(1, watermark_at=at) == []
    assert [firing for firing, _ in watching.see(299, watermark_at=at)] == [True]
    assert [firing for firing, _ in watching.look(1, replace(JOB, state=State.STOPPED))] == [False]
    assert watching.see(600, watermark_at=at) == [], "what was before it was stopped does not count"


def test_a_stuck_watermark_names_the_source_that_holds_it():
    watching = Watching(WatermarkStuck(name="stuck", lasting=timedelta(minutes=5)))
    at = "2024-01-01T00:00:00+00:00"
    watching.see(watermark_at=at, rows_of={"orders": 1, "payments": 1})
    assert watching.see(200, watermark_at=at, rows_of={"orders": 9, "payments": 1}) == []
    assert watching.see(100, watermark_at=at, rows_of={"orders": 20, "payments": 1}) == [
        (True, f"its watermark has stood at {at} for 5 minutes, held by payments (no row for 5 minutes)")
    ]
    moved = "2024-01-01T00:00:01+00:00"
    assert [firing for firing, _ in watching.see(1, watermark_at=moved, rows_of={"payments": 2})] == [False]
    assert watching.see(299, watermark_at=moved, rows_of={"payments": 3}) == []
    assert watching.see(1, watermark_at=moved, rows_of={"payments": 4}) == [
        (True, f"its watermark has stood at {moved} for 5 minutes; rows come, but their times do not move on")
    ]


def test_a_source_without_a_watermark_does_not_hold_one():
    watching = Watching(WatermarkStuck(name="stuck", lasting=timedelta(minutes=5)))
    at = "2024-01-01T00:00:00+00:00"
    known = {"watermark_at": at, "timed": ["orders"]}
    watching.see(**known, rows_of={"orders": 1, "countries": 1})
    assert watching.see(300, **known, rows_of={"orders": 9, "countries": 1}) == [
        (True, f"its watermark has stood at {at} for 5 minutes; rows come, but their times do not move on")
    ]


def test_a_job_without_a_watermark_or_that_does_not_run_has_none_that_is_stuck():
    watching = Watching(WatermarkStuck(name="stuck"))
    watching.see(rows_of={"orders": 1})
    assert watching.see(9999, rows_of={"orders": 1}) == []
    at = "2024-01-01T00:00:00+00:00"
    watching.see(watermark_at=at)
    assert watching.see(9999, watermark_at=at, job=replace(JOB, state=State.STOPPED)) == []


def test_a_batch_that_does_not_end_even_if_it_is_the_first():
    watching = Watching(BatchStuck(name="hangs"))
    assert watching.see(batch=-1, under_way=899) == []
    assert watching.see(1, batch=-1, under_way=900) == [(True, "a batch has been under way for 15 minutes")]
    assert watching.see(1, batch=-1, under_way=901) == []
    assert [firing for firing, _ in watching.see(1, batch=0, under_way=0)] == [False]


def test_dead_rows_count_within_a_time_and_another_driver_counts_anew():
    watching = Watching(DeadRows(name="dead", more_than=2, within=timedelta(minutes=5)))
    assert watching.see(dead=50) == [], "what was there at the first look is old"
    assert watching.see(60, dead=52) == []
    assert watching.see(60, dead=53, dead_of={"a": 1, "orders": 52}) == [
        (True, "3 records did not parse within 5 minutes, most of orders")
    ]
    assert [firing for firing, _ in watching.see(400, dead=53)] == [False]
    assert watching.see(1, dead=0) == []
    assert watching.see(1, dead=2) == []
    assert [firing for firing, _ in watching.see(1, dead=3)] == [True]


def test_a_crash_loop_is_of_the_job_as_a_whole():
    watching = Watching(CrashLoop(name="crashes", restarts=2))
    assert watching.see(job=replace(JOB, restarts=(NOW,))) == []
    again = replace(JOB, restarts=(NOW, NOW), error=Report("it broke"))
    assert watching.see(job=again) == [(True, "it was restarted 2 times within 10 minutes; last: it broke")]
    assert watching.see(job=replace(again, state=State.FAILED, reason="crash loop")) == []
    assert [firing for firing, _ in watching.see(job=JOB)] == [False]


def test_an_outage_of_what_a_job_needs_is_a_crash_loop_until_the_job_has_run_for_a_while():
    watching = Watching(CrashLoop(name="crashes", restarts=3))
    away = replace(JOB, state=State.RESTARTING, error=Report("the broker does not answer"))
    assert watching.see(job=replace(away, waits=2)) == []
    assert watching.see(job=replace(away, waits=3)) == [
        (True, "what it needs did not answer 3 times in a row; last: the broker does not answer")
    ]
    for minute, state in enumerate((State.STARTING, State.RUNNING, State.RESTARTING, State.STARTING)):
        since = NOW + timedelta(minutes=minute + 1)
        assert watching.see(60, job=replace(away, state=state, since=since, waits=minute + 3)) == []
    back = replace(away, state=State.RUNNING, since=NOW + watching.passed, waits=7)
    assert watching.see(120, job=back) == [], "it may fail again at once"
    assert [firing for firing, _ in watching.see(1, job=back)] == [False]
    for state in (State.STOPPING, State.STOPPED):
        assert watching.see(job=replace(back, state=state, since=NOW + watching.passed)) == []


def test_state_that_grows():
    watching = Watching(StateGrowth(name="grows", factor=2, within=timedelta(minutes=10), least=1000))
    assert watching.see(state_bytes=600) == []
    assert watching.see(60, state_bytes=999) == []
    assert watching.see(60, state_bytes=1200) == [
        (True, "its state has grown from 600 to 1200 bytes within 10 minutes")
    ]
    assert [firing for firing, _ in watching.see(700, state_bytes=1201)] == [False]


def test_rules_are_for_the_jobs_they_name_and_forget_those_that_are_gone():
    watching = Watching(LagAbove(name="behind", job="pay*", messages=1))
    assert watching.see(behind=5) == []
    assert [firing for firing, _ in watching.see(job=replace(JOB, name="payments"), behind=5)] == [True]
    gone = evaluate(watching.rules, [], watching.memory, NOW, watching.passed)
    assert [alert.firing for alert in gone] == [False]
    assert not watching.memory.rows
    assert not watching.memory.sizes


def test_memory_stays_small():
    watching = Watching(StateGrowth(name="grows"))
    for number in range(5000):
        watching.see(1, state_bytes=number, dead=number)
    assert all(len(points) < 100 for points in watching.memory.sizes.values())
    assert all(len(points) < 100 for points in watching.memory.dead.values())


def test_rules_are_read_from_plain_options():
    assert rule_of({"kind": "crash-loop", "name": "crashes", "within": "1 hour"}) == CrashLoop(
        name="crashes", within=timedelta(hours=1)
    )
    for wrong, message in (
        ({"kind": "mood", "name": "x"}, 'unknown kind of alert "mood"'),
        ({"kind": "lag", "name": "x", "above": 1}, 'has no option "above"'),
        ({"kind": "lag", "name": "x", "messages": 1, "lasting": "soon"}, '"soon" is not a duration'),
        ({"kind": "lag", "name": "x"}, "lacks"),
    ):
        with pytest.raises(HeadraceError, match=message):
            rule_of(wrong)


def taken_over(watching, *rules):
    """Return one who takes over the alerts that hold, and has seen nothing himself."""
    later = Watching(*rules)
    later.passed = watching.passed
    later.memory = resumed(watching.memory.firing.values(), watching.passed)
    return later


def test_who_takes_over_alerts_tells_none_anew_and_ends_them():
    rules = (LagAbove(name="behind", messages=100), CrashLoop(name="crashes", restarts=2))
    watching, again = Watching(*rules), replace(JOB, restarts=(NOW, NOW))
    assert [firing for firing, _ in watching.see(job=again, behind=500)] == [True, True]
    watching = taken_over(watching, *rules)
    assert watching.look(1, replace(again, state=State.STARTING)) == []
    assert watching.see(1, job=again, behind=500) == []
    over = watching.see(1, behind=0)
    assert sorted(over) == [
        (False, "no longer: 500 messages are still to be read"),
        (False, "no longer: it was restarted 2 times within 10 minutes"),
    ]
    assert not watching.memory.resumed


def test_who_takes_over_a_watermark_that_stands_waits_until_it_moves_or_has_stood_long_enough():
    rule, at = WatermarkStuck(name="stuck", lasting=timedelta(minutes=5)), "2024-01-01T00:00:00+00:00"
    watching = Watching(rule)
    watching.see(watermark_at=at)
    assert [firing for firing, _ in watching.see(300, watermark_at=at)] == [True]
    moves, stands, gone = (taken_over(watching, rule) for _ in range(3))
    assert moves.see(5, watermark_at=at) == []
    assert [firing for firing, _ in moves.see(5, watermark_at="2024-01-01T00:00:01+00:00")] == [False]
    for _ in range(9):
        assert stands.see(60, watermark_at=at) == []
    assert [firing for firing, _ in gone.look(5, replace(JOB, state=State.STOPPED))] == [False]


def test_who_takes_over_what_looks_back_waits_until_he_can_look_back_as_far():
    dead, grows = DeadRows(name="dead", within=timedelta(minutes=5)), StateGrowth(name="grows", least=1000)
    watching = Watching(dead, grows)
    watching.see(dead=0, state_bytes=1000)
    assert [firing for firing, _ in watching.see(60, dead=3, state_bytes=2000)] == [True, True]
    watching = taken_over(watching, dead, grows)
    assert watching.see(5, dead=3, state_bytes=2000) == []
    assert watching.see(290, dead=3, state_bytes=2000) == []
    assert [message for _, message in watching.see(5, dead=3, state_bytes=2000)] == [
        "no longer: 3 records did not parse within 5 minutes"
    ]
    assert [firing for firing, _ in watching.see(1500, dead=3, state_bytes=2000)] == [False]


@pytest.fixture
def book(database_url):
    database = Database.open(database_url)
    yield AlertBook(database)
    database.close()


BEHIND = (LagAbove(name="behind", messages=1),)


def lagging(behind=9, job=JOB):
    return [Sample(job, [from_dict({"name": "totals", "batch": 0, "behind": behind})])]


def test_alarms_tell_everybody_and_note(book):
    told, clock = [], MovingClock()
    alarms = Alarms(BEHIND, [told.append], clock.clock(), book)
    alarms.look(lagging())
    assert [alert.rule for alert in told] == ["behind"]
    assert alarms.firing == tuple(told) == tuple(book.open())
    clock.move(seconds=5)
    alarms.look([])
    assert alarms.firing == ()
    [kept] = book.all({"orders"}, over=True)
    assert (kept.alert, kept.over_at - kept.alert.at) == (told[0], timedelta(seconds=5))
    assert book.all({"orders"}, over=False) == book.all({"other"}, over=True) == book.open() == []


def test_another_server_goes_on_with_the_alerts_that_hold(book):
    told, clock = [], MovingClock()
    Alarms(BEHIND, [told.append], clock.clock(), book).look(lagging())
    clock.move(minutes=1)
    second = Alarms(BEHIND, [told.append], clock.clock(), book)
    assert second.firing == tuple(told)
    second.look(lagging())
    assert [alert.firing for alert in told] == [True]
    Alarms((), [told.append], clock.clock(), book).look(lagging())
    assert [alert.firing for alert in told] == [True, False], "its rule is gone"
    second.forget()
    second.look(lagging())
    assert [alert.firing for alert in told] == [True, False, True], "what another one has ended is news"
    assert len(book.all({"orders"}, over=True)) == 2


def test_a_look_writes_only_what_has_changed(book, monkeypatch):
    alarms, noted = Alarms(BEHIND, [], MovingClock().clock(), book), []
    note = AlertBook.note
    monkeypatch.setattr(AlertBook, "note", lambda self, changes: (noted.append(len(changes)), note(self, changes)))
    for behind in (0, 0, 9, 9, 9, 0, 0):
        alarms.look(lagging(behind))
    assert noted == [1, 1]


def test_what_could_not_be_noted_is_told_once_and_noted_at_the_next_look(book, monkeypatch):
    told, clock = [], MovingClock()
    alarms = Alarms(BEHIND, [told.append], clock.clock(), book)
    note = AlertBook.note

    def fails(self, changes):
        note(self, changes)  # it is noted, but nobody hears of that
        raise OSError("the database does not answer")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="does not answer"):
        patched.setattr(AlertBook, "note", fails)
        alarms.look(lagging())
    alarms.look(lagging())
    assert [alert.firing for alert in told] == [True]
    assert book.open() == told


def test_the_book_stays_small_and_forgets_none_that_holds(book, monkeypatch):
    monkeypatch.setattr("headrace.jobs.alert_book.MOST", 3)

    def alert(number, output, firing):
        return Alert("behind", "orders", output, firing, NOW + timedelta(minutes=number), "a \0 message")

    book.note([alert(0, "totals", True), alert(0, None, True)])
    for number in range(1, 9):
        book.note([alert(number, "counts", True)])
        book.note([alert(number, "counts", False)])
    kept = book.all({"orders"}, over=True)
    assert [(each.alert.output, (each.alert.at - NOW).total_seconds() / 60) for each in kept if each.over_at] == [
        ("counts", 8), ("counts", 7), ("counts", 6)
    ]  # fmt: skip
    assert {each.alert.output for each in kept if each.over_at is None} == {"totals", None}
    book.tidy(NOW + timedelta(days=30, minutes=8))
    assert [each.alert.at for each in book.all({"orders"}, over=True) if each.over_at] == [NOW + timedelta(minutes=8)]
    book.note([alert(9, None, False)])
    assert [each.output for each in book.open()] == ["totals"]


class Listener:
    """A server that answers with given codes, then 204, and notes what it got."""

    def __init__(self, *codes):
        self.codes, self.got = list(codes), []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append(json.loads(body))
                self.send_response(outer.codes.pop(0) if outer.codes else 204)
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/secret"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


ALERT = Alert("behind", "orders", "totals", True, NOW, "500 messages are still to be read")
AT_ONCE = (timedelta(0),) * 3
LONG = timedelta(minutes=4)
"""So that a busy machine is not taken for an address that does not answer."""


def test_a_webhook_is_tried_again_until_it_is_taken():
    listener = Listener(500, 503)
    hooks = Webhooks([listener.url], timeout=LONG, delays=AT_ONCE)
    hooks.send(ALERT)
    until(lambda: len(listener.got) == 3)
    hooks.close()
    listener.close()
    assert listener.got == [ALERT.as_dict()] * 3
    assert ALERT.as_dict()["status"] == "firing"


def test_what_is_refused_is_not_tried_again_and_the_address_stays_secret(caplog):
    listener = Listener(404)
    hooks = Webhooks([listener.url], timeout=LONG, delays=AT_ONCE)
    hooks.send(ALERT)
    until(lambda: "was not delivered" in caplog.text)
    hooks.close()
    listener.close()
    assert len(listener.got) == 1
    assert "it answered 404" in caplog.text
    assert "secret" not in caplog.text


def test_nobody_waits_for_an_address_that_does_not_answer(caplog):
    hooks = Webhooks(["http://127.0.0.1:9/"], delays=(timedelta(hours=1),))
    for _ in range(2000):
        hooks.send(ALERT)
    assert "too many wait already" in caplog.text
    hooks.close(timedelta(seconds=0.1))


def test_an_address_that_does_not_answer_holds_up_no_other():
    listener = Listener(200)
    hooks = Webhooks(["http://127.0.0.1:9/", listener.url], delays=(timedelta(hours=1),))
    hooks.send(ALERT)
    until(lambda: len(listener.got) == 1)
    hooks.send(ALERT)
    until(lambda: len(listener.got) == 2)
    hooks.close(timedelta(seconds=0.1))
    listener.close()


def test_prometheus_reads_the_figures():
    from prometheus_client.parser import text_string_to_metric_families

    figures = from_dict(
        {
            "name": "totals",
            "rows_in": 7,
            "lag": 2.5,
            "batch_time": 0.25,
            "behind": 4,
            "rows_of": {"orders": 7},
            "dead_of": {"orders": 1},
            "behind_of": {"bids:0": 4},
            "operators": {"1 join": {"rows": 5.0, "seconds": 0.5}},
        }
    )
    figures = replace(figures, observed={"value": {"n": 2.0, "m": None}}, observed_totals={"value": {"n": 7.0}})
    text = exposition([Sample(replace(JOB, restart_count=3), [figures]), Sample(replace(JOB, name='odd "one"'))])
    samples = {
        (each.name, tuple(sorted(each.labels.items()))): each.value
        for family in text_string_to_metric_families(text.decode())
        for each in family.samples
    }
    of_output = (("job", "orders"), ("output", "totals"))
    assert samples["headrace_rows_in_total", of_output] == 7
    assert samples["headrace_watermark_lag_seconds", of_output] == 2.5
    assert samples["headrace_batch_seconds", of_output] == 0.25
    assert samples["headrace_stream_dead_records_total", (*of_output, ("stream", "orders"))] == 1
    assert samples["headrace_partition_messages_behind", (*of_output, ("partition", "0"), ("topic", "bids"))] == 4
    of_operator = (("job", "orders"), ("operator", "1 join"), ("output", "totals"))
    assert samples["headrace_operator_state_rows", of_operator] == 5
    assert samples["headrace_job_restarts_total", (("job", "orders"),)] == 3
    assert samples["headrace_job_state", (("job", 'odd "one"'), ("state", "running"))] == 1
    assert samples["headrace_jobs", (("state", "running"),)] == 2
    of_figure = (("job", "orders"), ("metric", "n"), ("name", "value"))
    assert samples["headrace_observed", of_figure] == 2
    assert samples["headrace_observed_total", of_figure] == 7
    gauges = {name for name, labels in samples if not name.endswith("_total") and ("job", "orders") in labels}
    text = exposition([Sample(replace(JOB, state=State.RESTARTING), [figures])]).decode()
    assert "headrace_rows_in_total{" in text
    left = {name for name in gauges if f"{name}{{" in text}
    assert left == {"headrace_job_state"}, "a driver that has ended has no rates"
