"""Alerts that begin and end go into the database; those that hold, and the last that held, come out of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from headrace.jobs.alerts import Alert
from headrace.records.database import Database
from headrace.records.server_tables import AlertRow

__all__ = ["AlertBook", "KeptAlert", "acknowledge", "forget_alerts_of"]

KEPT = timedelta(days=30)
"""How long an alert that is over is kept."""
MOST = 1000
"""How many alerts that are over are kept; those that hold all are."""


@dataclass(frozen=True, slots=True)
class KeptAlert:
    """An alert as people see it: since when, until when, and who took note."""

    id: str
    alert: Alert
    over_at: datetime | None = None
    acknowledged_by: str | None = None


class AlertBook:
    """What a server remembers of alerts, also after it was started again."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def open(self) -> list[Alert]:
        """Return the alerts that hold, the oldest first."""
        with self.database.reading() as session:
            rows = session.scalars(
                select(AlertRow).where(AlertRow.over_at.is_(None)).order_by(AlertRow.at, AlertRow.id)
            )
            return [_alert(row) for row in rows]

    def all(self, jobs: Collection[str], *, over: bool) -> list[KeptAlert]:
        """Return the alerts of jobs, the newest first: those that hold, or also those that are ``over``."""
        wanted = select(AlertRow).order_by(AlertRow.at.desc(), AlertRow.id.desc())
        if not over:
            wanted = wanted.where(AlertRow.over_at.is_(None))
        if len(jobs) == 1:
            wanted = wanted.where(AlertRow.job.in_(jobs))
        with self.database.reading() as session:
            rows = [row for row in session.scalars(wanted) if row.job in jobs]
            return [KeptAlert(row.id, _alert(row), row.over_at, row.acknowledged_by) for row in rows]

    def note(self, changes: Sequence[Alert]) -> None:
        """Note alerts that have begun or ended, all at once; what was noted before may come again."""
        with self.database.transaction() as session:
            for each in changes:
                if each.firing:
                    _begin(session, each)
                else:
                    _end(session, each)
            session.flush()
            if any(not each.firing for each in changes):
                _forget_oldest(session)

    def tidy(self, now: datetime) -> None:
        """Forget alerts that have been over for long."""
        with self.database.transaction() as session:
            session.execute(delete(AlertRow).where(AlertRow.over_at < now - KEPT))


def acknowledge(session: Session, alert: str, by: str, at: datetime) -> bool:
    """Note who has taken note of an alert and say whether it is news: the first to do so counts."""
    row = session.get(AlertRow, alert)
    if row is None or row.acknowledged_by is not None:
        return False
    row.acknowledged_by, row.acknowledged_at = by, at
    return True


def forget_alerts_of(session: Session, job: str) -> None:
    """Forget the alerts of a job that is deleted: another one may have its name."""
    session.execute(delete(AlertRow).where(AlertRow.job == job))


def _alert(row: AlertRow) -> Alert:
    return Alert(row.rule, row.job, row.output, True, row.at, row.message)


def _begin(session: Session, alert: Alert) -> None:
    if session.get(AlertRow, alert.id) is None:
        message = alert.message.replace("\0", "").encode("utf-8", "replace").decode()  # Postgres keeps no other text
        row = AlertRow(id=alert.id, rule=alert.rule, job=alert.job, output=alert.output, message=message, at=alert.at)
        session.add(row)
        session.flush()


def _end(session: Session, alert: Alert) -> None:
    same = (AlertRow.rule == alert.rule, AlertRow.job == alert.job, AlertRow.output.is_not_distinct_from(alert.output))
    session.execute(update(AlertRow).where(*same, AlertRow.over_at.is_(None)).values(over_at=alert.at))


def _forget_oldest(session: Session) -> None:
    over = AlertRow.over_at.is_not(None)
    newest = select(AlertRow.over_at).where(over).order_by(AlertRow.over_at.desc())
    if (last := session.scalar(newest.offset(MOST).limit(1))) is not None:
        session.execute(delete(AlertRow).where(over, AlertRow.over_at <= last))
