"""Rules of alerts go in, from a file and from people; those that count, each with where it comes from, come out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import select

from headrace.errors import HeadraceError
from headrace.jobs.alarms import Alarms
from headrace.jobs.rules import Rule, options_of, rule_of
from headrace.records.base import Clock
from headrace.records.database import Database
from headrace.records.server_tables import AlertRuleRow
from headrace.server.access.access import Access
from headrace.server.access.audit import Detail, record
from headrace.server.access.decisions import Target, Who
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.services.job_reading import job_target
from headrace.server.services.mistakes import NotThere, Unwanted

__all__ = ["AlertRules", "KeptRule"]

LONGEST_NAME = 100
Origin = Literal["standard", "file", "server"]


@dataclass(frozen=True, slots=True)
class KeptRule:
    """A rule and where it comes from: only what the server keeps can be changed."""

    rule: Rule
    origin: Origin
    changed_at: datetime | None = None
    changed_by: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The rule as plain options, as they stand in a file."""
        return options_of(self.rule)

    @property
    def target(self) -> Target:
        """What it is about, as access lists know it: one job, or jobs in general."""
        return _target(self.rule)


class AlertRules:
    """The rules of a server: a file's stay as they are, and one that people make takes the place of a standard one."""

    def __init__(
        self,
        given: Sequence[Rule],
        *,
        from_file: bool,
        alarms: Alarms,
        database: Database,
        access: Access,
        clock: Clock,
    ) -> None:
        origin: Origin = "file" if from_file else "standard"
        self._given = {rule.name: KeptRule(rule, origin) for rule in given}
        self._alarms, self._database, self._access, self._clock = alarms, database, access, clock
        self.load()

    def load(self) -> None:
        """Let the rules that are kept count from now on."""
        self._alarms.rules = tuple(each.rule for each in self._all().values())

    def all(self, who: Who) -> list[KeptRule]:
        """Return the rules by name, without those about a job that somebody may not see."""
        self._access.require(who, Action.SEE, Target(ObjectKind.SYSTEM))
        found = sorted(self._all().values(), key=lambda each: each.rule.name.lower())
        return [each for each in found if self._access.may(who, Action.SEE, each.target)]

    def put(self, who: Who, name: str, options: Mapping[str, Any]) -> KeptRule:
        """Add a rule, or change the one of that name."""
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
            raise HeadraceError(f"a rule needs a name of 1 to {LONGEST_NAME} characters that can be printed")
        rule = rule_of({**options, "name": name})
        self._access.require(who, Action.EDIT_ALERTS, _target(rule))
        self._check_not_given(name)
        before = self._all().get(name)
        if before is not None and not self._access.may(who, Action.SEE, before.target):
            raise Unwanted(f'the name "{name}" cannot be used', hint="Choose another name.")
        if before is not None:
            self._access.require(who, Action.EDIT_ALERTS, before.target)
        plain = options_of(rule)
        with self._database.transaction() as session:
            now, row = self._clock(), session.get(AlertRuleRow, name)
            if row is None:
                session.add(AlertRuleRow(name=name, options=plain, changed_at=now, changed_by=who.name))
            else:
                row.options, row.changed_at, row.changed_by = plain, now, who.name
            record(session, now, who, "alert_rule.put", _target(rule), _details(plain))
        self.load()
        return KeptRule(rule, "server", now, who.name)

    def remove(self, who: Who, name: str) -> None:
        """Remove a rule that people have made; a standard one whose place it took counts again."""
        found = self._all().get(name)
        if found is None or not self._access.may(who, Action.SEE, found.target):
            raise NotThere(f'there is no rule "{name}"')
        self._access.require(who, Action.EDIT_ALERTS, found.target)
        self._check_not_given(name)
        with self._database.transaction() as session:
            row = session.get(AlertRuleRow, name)
            if row is None:
                raise Unwanted(
                    f'the rule "{name}" is a standard one',
                    hint="Change it to one that never holds, or give the server a file of rules with --alerts.",
                )
            session.delete(row)
            record(session, self._clock(), who, "alert_rule.remove", found.target, {"rule": name})
        self.load()

    def _check_not_given(self, name: str) -> None:
        given = self._given.get(name)
        if given is not None and given.origin == "file":
            raise Unwanted(
                f'the rule "{name}" stands in the file of alerts',
                hint="Change it there and start the server again, or choose another name.",
            )

    def _all(self) -> dict[str, KeptRule]:
        """Return every rule by its name; those of a file count before those that people made."""
        with self._database.reading() as session:
            rows = session.scalars(select(AlertRuleRow)).all()
            made = {row.name: KeptRule(rule_of(row.options), "server", row.changed_at, row.changed_by) for row in rows}
        fixed = {name: each for name, each in self._given.items() if each.origin == "file" or name not in made}
        return {**made, **fixed}


def _target(rule: Rule) -> Target:
    several = any(letter in rule.job for letter in "*?[")
    return Target(ObjectKind.JOB) if several else job_target(rule.job)


def _details(plain: Mapping[str, Any]) -> dict[str, Detail]:
    return {("rule" if name == "name" else name): value for name, value in plain.items()}
