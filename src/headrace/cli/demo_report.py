"""The alerts of a demo and the cases that its generator planted go in; lines for people come out."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["Tally", "alert_line", "cases_in", "summary_lines"]

Alert = Mapping[str, Any]
Case = Mapping[str, str]


@dataclass(slots=True)
class Tally:
    """What was seen so far: alerts in the order in which they came, and how much was read."""

    alerts: list[Alert] = field(default_factory=list)
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows of each stream."""
    watermark: datetime | None = None
    """Everything before is judged, and its alerts are among these."""


def alert_line(alert: Alert) -> str:
    """Return an alert as one line: when, who, what and why.

    >>> alert_line({"timestamp": "2026-03-01T12:00:05.25Z", "account_id": "A1", "reason": "Use abroad",
    ...             "why": "612 km from home", "action": "Flagged for review", "evidence": []})
    '12:00:05  A1      Use abroad               612 km from home (flagged for review)'
    """
    at = str(alert.get("timestamp") or "")[11:19]
    action = f" ({str(alert['action']).lower()})" if alert.get("action") else ""
    who, what = str(alert.get("account_id") or ""), str(alert.get("reason") or "")
    return f"{at:<8}  {who:<6}  {what:<23}  {alert.get('why') or ''}{action}".rstrip()


def cases_in(log: str) -> list[Case]:
    r"""Return the cases that a generator told of in its log, one JSON object a line.

    >>> cases_in('a warning\n{"transaction_id": "1f", "timestamp": "2026-03-01T12:00:00Z"}\n{"transac')
    [{'transaction_id': '1f', 'timestamp': '2026-03-01T12:00:00Z'}]
    """
    return [json.loads(line) for line in log.splitlines() if line.startswith("{") and line.endswith("}")]


def summary_lines(tally: Tally, cases: Sequence[Case], seconds: float) -> list[str]:
    r"""Return what a demo showed: what was read, alerts by kind, and how many of the planted cases were found.

    >>> tally = Tally([{"reason": "Use abroad", "transaction_id": "1f"}], {"transactions": 1200},
    ...               datetime.fromisoformat("2026-03-01T12:00:01Z"))
    >>> cases = [{"transaction_id": f"{n}f", "timestamp": f"2026-03-01T1{n}:00:00Z"} for n in (1, 5)]
    >>> print(*summary_lines(tally, cases, 60), sep="\n")
    1,200 transactions, 1 alert in 60 seconds
         1  Use abroad
    1 of 1 planted case was found, and nothing else; 1 more is not due yet
    """
    read = ", ".join(f"{count:,} {stream}" for stream, count in tally.rows.items())
    many = _counted(len(tally.alerts), "alert")
    lines = [f"{read}, {many} in {seconds:.0f} seconds" if read else f"{many} in {seconds:.0f} seconds"]
    reasons = Counter(str(alert.get("reason") or "") for alert in tally.alerts)
    lines += [f"{count:>6}  {reason}" for reason, count in sorted(reasons.items()) if reason]
    if cases and tally.watermark is not None:
        lines.append(_verdict(tally.alerts, cases, tally.watermark))
    return lines


def _verdict(alerts: Iterable[Alert], cases: Sequence[Case], watermark: datetime) -> str:
    found = {str(alert.get("transaction_id")) for alert in alerts}
    planted = {case["transaction_id"] for case in cases}
    due = {case["transaction_id"] for case in cases if datetime.fromisoformat(case["timestamp"]) < watermark}
    wrong = len(found - planted)
    nothing_else = f"and {_counted(wrong, 'alert')} that nobody planted" if wrong else "and nothing else"
    later = len(planted - due - found)
    text = f"{len(due & found)} of {_counted(len(due), 'planted case')} {'was' if len(due) == 1 else 'were'} found"
    return f"{text}, {nothing_else}" + (f"; {later} more {'is' if later == 1 else 'are'} not due yet" if later else "")


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}" + "s" * (count != 1)
