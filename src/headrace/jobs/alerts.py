"""Rules and the figures of jobs go in, round by round; alerts that begin and end come out.

Durations are measured in time that only passes, so no clock's jump raises an alert.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from headrace.connectors.durations import duration_text
from headrace.jobs.decisions import Limits, has_settled
from headrace.jobs.figures import Figures
from headrace.jobs.metrics import Sample
from headrace.jobs.rules import BatchStuck, CrashLoop, DeadRows, LagAbove, Rule, StateGrowth, WatermarkStuck
from headrace.jobs.states import FINAL, HOLDING, State

__all__ = ["Alert", "Memory", "evaluate", "resumed"]


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule that began (``firing``) or ceased to hold for an output of a job, or for a job as a whole."""

    rule: str
    job: str
    output: str | None
    firing: bool
    at: datetime
    message: str

    @property
    def id(self) -> str:
        """What an alert that began is known by."""
        text = f"{self.rule}\0{self.job}\0{self.output}\0{self.at.isoformat()}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "rule": self.rule,
            "job": self.job,
            "output": self.output,
            "status": "firing" if self.firing else "resolved",
            "at": self.at.isoformat(),
            "message": self.message,
        }


Key = tuple[str, str, str | None]
Series = tuple[str, str]


@dataclass(slots=True)
class Memory:
    """What was seen before: since when a rule holds, since when figures stand still, and how they were earlier."""

    holding: dict[Key, timedelta] = field(default_factory=dict)
    firing: dict[Key, Alert] = field(default_factory=dict)
    watermarks: dict[Series, tuple[datetime, timedelta]] = field(default_factory=dict)
    rows: dict[tuple[str, str, str], tuple[int, timedelta]] = field(default_factory=dict)
    dead: dict[Series, list[tuple[timedelta, int]]] = field(default_factory=dict)
    last_dead: dict[Series, int] = field(default_factory=dict)
    sizes: dict[Series, list[tuple[timedelta, int]]] = field(default_factory=dict)
    looked: timedelta | None = None
    """When the last look was. What is there at the first one may be old; what appears later is new."""
    resumed: dict[Key, timedelta] = field(default_factory=dict)
    """Alerts that began before the first look, and when they were taken over."""
    moved: set[Series] = field(default_factory=set)
    """Outputs whose watermark was seen to move."""


def resumed(alerts: Iterable[Alert], passed: timedelta) -> Memory:
    """Return the memory of one who takes over alerts that hold, and knows nothing else of what was before."""
    memory = Memory()
    for each in alerts:
        key = (each.rule, each.job, each.output)
        memory.firing[key], memory.holding[key], memory.resumed[key] = each, passed, passed
    return memory


def evaluate(
    rules: Sequence[Rule], samples: Iterable[Sample], memory: Memory, now: datetime, passed: timedelta
) -> list[Alert]:
    """Return the alerts that begin or end now; ``memory`` is brought up to date."""
    seen = list(samples)
    longest = max((getattr(rule, "within", timedelta(0)) for rule in rules), default=timedelta(0))
    for sample in seen:
        for figures in _measured(sample):
            _remember(memory, sample.job.name, figures, passed, longest)
    _stand_still(memory, seen, passed)
    memory.looked = passed
    _forget(memory, {sample.job.name for sample in seen if sample.job.state not in FINAL})
    held: dict[Key, str] = {}
    unknown: set[Key] = set()
    for rule in rules:
        for sample in seen:
            if fnmatchcase(sample.job.name, rule.job):
                for output, message in _holds(rule, sample, memory, now, passed).items():
                    held[rule.name, sample.job.name, output] = message
                unknown |= {
                    key
                    for key in memory.holding
                    if key[:2] == (rule.name, sample.job.name)
                    and key[2] is not None
                    and (_is_silent(sample, key[2]) or _is_too_early(rule, sample, key, memory, passed))
                }
    alerts = _begun(rules, held, unknown, memory, now, passed)
    for key in [key for key in memory.firing if key not in held and key not in unknown]:
        last = memory.firing.pop(key)
        memory.resumed.pop(key, None)
        alerts.append(Alert(*key, firing=False, at=now, message=f"no longer: {last.message}"))
    return alerts


def _measured(sample: Sample) -> list[Figures]:
    """Return the figures that say something: not those of a driver that has yet to finish or find its first batch."""
    return [each for each in sample.current if each.batch >= 0 or each.idle]


def _is_silent(sample: Sample, output: str) -> bool:
    """Say whether nothing is known of an output for a while, since its next driver is on its way."""
    if sample.job.state in FINAL or output in {each.name for each in _measured(sample)}:
        return False
    return not sample.current or output in {each.name for each in sample.current}


def _is_too_early(rule: Rule, sample: Sample, key: Key, memory: Memory, passed: timedelta) -> bool:
    """Say whether an alert that was taken over may still hold: its rule looks back further than anybody remembers."""
    since = memory.resumed.get(key)
    if since is None or key[2] not in {each.name for each in _measured(sample)}:
        return False
    match rule:
        case WatermarkStuck():
            series = (sample.job.name, key[2])
            return series in memory.watermarks and series not in memory.moved
        case DeadRows() | StateGrowth():
            return passed - since < rule.within
    return False


def _begun(
    rules: Sequence[Rule],
    held: Mapping[Key, str],
    unknown: Collection[Key],
    memory: Memory,
    now: datetime,
    passed: timedelta,
) -> list[Alert]:
    own = (WatermarkStuck, BatchStuck)  # these hold only once they have lasted
    lasting = {rule.name: timedelta(0) if isinstance(rule, own) else rule.lasting for rule in rules}
    memory.holding = {key: memory.holding.get(key, passed) for key in (*held, *unknown)}
    alerts = []
    for key, message in held.items():
        if key not in memory.firing and passed - memory.holding[key] >= lasting[key[0]]:
            memory.firing[key] = Alert(*key, firing=True, at=now, message=message)
            alerts.append(memory.firing[key])
    return alerts


def _holds(rule: Rule, sample: Sample, memory: Memory, now: datetime, passed: timedelta) -> dict[str | None, str]:
    """Return why a rule holds, by output; how long a watermark or a batch has lasted is part of that."""
    name = sample.job.name
    match rule:
        case CrashLoop():
            reason = _crashes(rule, sample, now)
            return {} if reason is None else {None: reason}
        case LagAbove():
            return {
                each.name: f"{each.behind} messages are still to be read"
                for each in _measured(sample)
                if each.behind is not None and each.behind > rule.messages
            }
        case BatchStuck():  # the first batch of a driver may hang, too
            return {
                each.name: f"a batch has been under way for {_roughly(each.under_way)}"
                for each in sample.current
                if each.under_way >= rule.lasting
            }
        case WatermarkStuck():
            stuck = {each.name: _stuck(rule, name, each, memory, passed) for each in _measured(sample)}
        case DeadRows():
            stuck = {each.name: _died(rule, name, each, memory, passed) for each in _measured(sample)}
        case StateGrowth():
            stuck = {each.name: _grown(rule, name, each, memory, passed) for each in _measured(sample)}
        case _:
            raise TypeError(f"not a rule that is known: {rule}")
    return {output: reason for output, reason in stuck.items() if reason is not None}


def _crashes(rule: CrashLoop, sample: Sample, now: datetime) -> str | None:
    job = sample.job
    if job.state is State.FAILED:
        return f"it has failed: {job.reason}"
    last = "" if job.error is None else f"; last: {job.error.message}"
    recent = sum(abs(now - each) <= rule.within for each in job.restarts)
    if recent >= rule.restarts:
        return f"it was restarted {recent} times within {duration_text(rule.within)}{last}"
    tried = job.state in HOLDING - {State.STOPPING} and not has_settled(job.facts(), now, Limits())
    if tried and job.waits >= rule.restarts:
        return f"what it needs did not answer {job.waits} times in a row{last}"
    return None


def _stuck(rule: WatermarkStuck, job: str, figures: Figures, memory: Memory, passed: timedelta) -> str | None:
    known = memory.watermarks.get((job, figures.name))
    if known is None or passed - known[1] < rule.lasting:
        return None
    quiet = {
        stream: passed - memory.rows[job, figures.name, stream][1]
        for stream in figures.rows_of
        if (figures.timed is None or stream in figures.timed)
        and passed - memory.rows[job, figures.name, stream][1] >= rule.lasting
    }
    stands = f"its watermark has stood at {known[0].isoformat()} for {_roughly(passed - known[1])}"
    if not quiet:
        return f"{stands}; rows come, but their times do not move on"
    held = ", ".join(f"{stream} (no row for {_roughly(since)})" for stream, since in sorted(quiet.items()))
    return f"{stands}, held by {held}"


def _died(rule: DeadRows, job: str, figures: Figures, memory: Memory, passed: timedelta) -> str | None:
    new = figures.dead - _earliest(memory.dead[job, figures.name], passed - rule.within)
    if new <= rule.more_than:
        return None
    worst = max(figures.dead_of, key=lambda stream: figures.dead_of[stream], default=None)
    where = "" if worst is None else f", most of {worst}"
    return f"{new} records did not parse within {duration_text(rule.within)}{where}"


def _grown(rule: StateGrowth, job: str, figures: Figures, memory: Memory, passed: timedelta) -> str | None:
    before = _earliest(memory.sizes[job, figures.name], passed - rule.within)
    if figures.state_bytes < rule.least or before <= 0 or figures.state_bytes < before * rule.factor:
        return None
    return f"its state has grown from {before} to {figures.state_bytes} bytes within {duration_text(rule.within)}"


def _remember(memory: Memory, job: str, figures: Figures, passed: timedelta, longest: timedelta) -> None:
    series = (job, figures.name)
    if figures.watermark_at is None:
        memory.watermarks.pop(series, None)
    elif series not in memory.watermarks or memory.watermarks[series][0] != figures.watermark_at:
        if series in memory.watermarks:
            memory.moved.add(series)
        memory.watermarks[series] = (figures.watermark_at, passed)
    for stream, count in figures.rows_of.items():
        if (*series, stream) not in memory.rows or memory.rows[*series, stream][0] != count:
            memory.rows[*series, stream] = (count, passed)
    last = memory.last_dead.get(series, 0)
    memory.last_dead[series] = figures.dead
    if figures.dead < last:  # another driver counts from nought
        memory.dead[series] = [(at, count - last) for at, count in memory.dead[series]]
    _point(memory.dead, series, figures.dead, figures.dead if memory.looked is None else 0, passed, longest)
    _point(memory.sizes, series, figures.state_bytes, figures.state_bytes, passed, longest)


def _point(
    kept: dict[Series, list[tuple[timedelta, int]]],
    series: Series,
    value: int,
    first: int,
    passed: timedelta,
    longest: timedelta,
) -> None:
    """Remember a value now and then, for as long as a rule looks back."""
    points = kept.setdefault(series, [(passed, first)])
    if passed - points[-1][0] >= max(longest / 60, timedelta(seconds=1)):
        points.append((passed, value))
    while len(points) > 2 and points[1][0] <= passed - longest:
        del points[0]


def _earliest(points: Sequence[tuple[timedelta, int]], since: timedelta) -> int:
    """Return the value at an instant: that of the last point before it, or of the first there is."""
    value = points[0][1]
    for at, each in points:
        if at > since:
            break
        value = each
    return value


def _stand_still(memory: Memory, samples: Iterable[Sample], passed: timedelta) -> None:
    """Let the time during which nothing is known of an output not count as time in which its watermark stood."""
    since_last = timedelta(0) if memory.looked is None else passed - memory.looked
    for sample in samples:
        for series, (watermark_at, since) in memory.watermarks.items():
            if series[0] == sample.job.name and _is_silent(sample, series[1]):
                memory.watermarks[series] = (watermark_at, since + since_last)


def _forget(memory: Memory, jobs: set[str]) -> None:
    """Forget jobs that are no more, or have ended."""
    several: tuple[dict[Any, Any], ...] = (memory.watermarks, memory.rows, memory.dead, memory.last_dead, memory.sizes)
    for kept in several:
        for key in [key for key in kept if key[0] not in jobs]:
            del kept[key]
    memory.moved = {series for series in memory.moved if series[0] in jobs}


def _roughly(duration: timedelta) -> str:
    return duration_text(timedelta(seconds=max(1, round(duration.total_seconds()))))
