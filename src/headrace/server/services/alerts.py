"""Rules in a file and the figures of jobs go in; alerts that people see, and that they took note of, come out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from headrace.errors import HeadraceError
from headrace.jobs.alarms import Alarms
from headrace.jobs.alert_book import AlertBook, KeptAlert, acknowledge
from headrace.jobs.alerts import Alert
from headrace.jobs.rules import BatchStuck, CrashLoop, DeadRows, Rule, StateGrowth, WatermarkStuck, rule_of
from headrace.records.base import Clock
from headrace.server.access.audit import record
from headrace.server.access.decisions import Who
from headrace.server.access.roles import Action
from headrace.server.services.job_reading import JobReading, job_target
from headrace.server.services.mistakes import NotThere

__all__ = ["STANDARD", "AlertFile", "Alerts", "read_alerts"]

STANDARD: tuple[Rule, ...] = (
    CrashLoop(name="crash loop"),
    DeadRows(name="dead rows"),
    WatermarkStuck(name="watermark stuck"),
    BatchStuck(name="batch stuck"),
    StateGrowth(name="state growth"),
)
"""The rules of a server that is given none."""


@dataclass(frozen=True, slots=True)
class AlertFile:
    """What a file of alerts says: rules, and addresses to which alerts are posted."""

    rules: tuple[Rule, ...] = STANDARD
    webhooks: tuple[str, ...] = ()


def read_alerts(file: Path | None) -> AlertFile:
    """Return the rules and webhooks of a YAML file, the standard ones without a file."""
    if file is None:
        return AlertFile()
    try:
        plain = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise HeadraceError(f'the file of alerts "{file}" cannot be read', detail=f"{error}.") from error
    rules, webhooks = _listed(plain, "rules"), _listed(plain, "webhooks")
    return AlertFile(tuple(map(_rule, rules)), tuple(map(_webhook, webhooks)))


def _rule(plain: Any) -> Rule:
    if not isinstance(plain, dict) or not all(isinstance(each, str) for each in plain):
        raise HeadraceError(
            f"a rule of alerts cannot be {plain!r}",
            detail="A rule has a name, a kind and the options of its kind.",
            hint="Write it as {name: far behind, kind: lag, messages: 1000}.",
        )
    return rule_of(plain)


def _webhook(plain: Any) -> str:
    try:
        parts = urlsplit(str(plain))
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one = False
    if not is_one:
        raise HeadraceError(
            f'"{plain}" is not the address of a webhook',
            detail="Alerts are posted to addresses of HTTP.",
            hint="Write it as https://host/path.",
        )
    return str(plain)


def _listed(plain: Any, name: str) -> list[Any]:
    found = plain.get(name, []) if isinstance(plain, dict) else None
    if not isinstance(found, list):
        raise HeadraceError(f'a file of alerts has a list "{name}"', hint="It has rules and webhooks.")
    return found


class Alerts:
    """The alerts of a server: those that hold, and the last that held."""

    def __init__(self, alarms: Alarms, book: AlertBook, jobs: JobReading, clock: Clock) -> None:
        self.alarms, self.book, self._jobs, self._clock = alarms, book, jobs, clock

    def of(self, who: Who, job: str) -> list[KeptAlert]:
        """Return the alerts of a job, the newest first."""
        return self.book.all({self._jobs.show(who, job).name}, over=True)

    def all(self, who: Who, *, over: bool = False) -> list[KeptAlert]:
        """Return the alerts of all jobs that somebody may see, the newest first: those that hold, or also ``over``."""
        return self.book.all({job.name for job in self._jobs.all(who)}, over=over)

    def acknowledge(self, who: Who, job: str, alert: str) -> KeptAlert:
        """Take note of an alert; the first to do so counts."""
        found = self._jobs.show(who, job, Action.ACKNOWLEDGE)
        if alert not in {each.id for each in self.of(who, job)}:
            raise NotThere(f'job "{found.name}" has no alert "{alert}"')
        with self.book.database.transaction() as session:
            now = self._clock()
            if acknowledge(session, alert, who.name, now):
                record(session, now, who, "job.acknowledge", job_target(found.name), {"alert": alert})
        return next(each for each in self.of(who, job) if each.id == alert)

    def firing(self, job: str) -> list[Alert]:
        """Return the alerts of a job that hold now."""
        return [each for each in self.alarms.firing if each.job == job]
