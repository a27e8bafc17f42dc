"""Plain options go in, rules come out: what people want to be told of their jobs."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import timedelta
from typing import Any

from headrace.connectors.durations import duration_text, parse_duration
from headrace.errors import HeadraceError

__all__ = [
    "KINDS",
    "BatchStuck",
    "CrashLoop",
    "DeadRows",
    "LagAbove",
    "Rule",
    "StateGrowth",
    "WatermarkStuck",
    "options_of",
    "rule_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that people want to know; ``job`` may have ``*``, and it must hold for so long before they are told."""

    name: str
    job: str = "*"
    lasting: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LagAbove(Rule):
    """More messages of Kafka are still to be read than this."""

    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkStuck(Rule):
    """The watermark does not move, though the job runs."""

    lasting: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStuck(Rule):
    """A batch does not end: no worker is left, or what it writes to hangs."""

    lasting: timedelta = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRows(Rule):
    """More records than this did not parse within a time."""

    more_than: int = 0
    within: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashLoop(Rule):
    """The job has failed, or is restarted again and again: by failures, or because what it needs does not answer."""

    restarts: int = 3
    within: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateGrowth(Rule):
    """State has grown by this factor within a time, and is larger than ``least`` bytes."""

    factor: float = 2.0
    within: timedelta = timedelta(minutes=30)
    least: int = 100_000_000


KINDS: dict[str, type[Rule]] = {
    "lag": LagAbove,
    "watermark-stuck": WatermarkStuck,
    "batch-stuck": BatchStuck,
    "dead-rows": DeadRows,
    "crash-loop": CrashLoop,
    "state-growth": StateGrowth,
}


def rule_of(options: Mapping[str, Any]) -> Rule:
    """Return the rule that plain options describe, as they stand in a file.

    >>> rule_of({"name": "behind", "kind": "lag", "messages": 1000, "lasting": "1 minute", "job": "orders*"})
    LagAbove(name='behind', job='orders*', lasting=datetime.timedelta(seconds=60), messages=1000)
    """
    kind = KINDS.get(str(options.get("kind")))
    if kind is None:
        raise HeadraceError(f'unknown kind of alert "{options.get("kind")}"', hint=f"There are: {', '.join(KINDS)}.")
    values = {name: value for name, value in options.items() if name != "kind"}
    known = kind.__dataclass_fields__
    for name, value in values.items():
        if name not in known:
            raise HeadraceError(
                f'an alert of kind "{options["kind"]}" has no option "{name}"', hint=f"It has: {', '.join(known)}."
            )
        if known[name].type is timedelta or "timedelta" in str(known[name].type):
            duration = parse_duration(str(value))
            if duration is None:
                raise HeadraceError(f'"{value}" is not a duration', hint="Write it as 5 minutes.")
            values[name] = duration
        elif known[name].type in (int, float):
            values[name] = _number(name, value, known[name].type)
        elif not isinstance(value, str) or not value.strip():
            raise HeadraceError(f'the option "{name}" of an alert is a text')
    lacking = [each.name for each in fields(kind) if each.default is MISSING and each.name not in values]
    if lacking:
        raise HeadraceError(
            f'an alert of kind "{options["kind"]}" lacks {" and ".join(lacking)}',
            detail=f"It has the options {', '.join(known)}.",
            hint=f"Say {lacking[0]}, too.",
        )
    return kind(**values)


def options_of(rule: Rule) -> dict[str, Any]:
    """Return a rule as plain options, as `rule_of` takes them; what is as usual is left out.

    >>> options_of(LagAbove(name="behind", messages=1000, lasting=timedelta(minutes=1)))
    {'name': 'behind', 'kind': 'lag', 'messages': 1000, 'lasting': '1 minute'}
    """
    kind = next(word for word, each in KINDS.items() if type(rule) is each)
    found: dict[str, Any] = {"name": rule.name, "kind": kind}
    usual = {each.name: each.default for each in fields(rule)}
    for name in sorted(usual, key=lambda each: (each in {"job", "lasting"}, list(usual).index(each))):
        value = getattr(rule, name)
        if name != "name" and value != usual[name]:
            found[name] = duration_text(value) if isinstance(value, timedelta) else value
    return found


def _number(name: str, value: Any, kind: Any) -> int | float:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole or (kind is float and isinstance(value, float))) or not 0 <= value < 2**53:
        raise HeadraceError(f'the option "{name}" of an alert is a number, and not below nought')
    found: int | float = value
    return found
