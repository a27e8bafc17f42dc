"""Named texts go in and are kept with all their versions; so are the dashboards beside them."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from headrace.errors import without_secrets
from headrace.jobs.submission import check_name
from headrace.records.base import Clock
from headrace.records.database import Database, take_turns
from headrace.records.server_tables import ApplicationRow, ApplicationVersionRow, DashboardRow
from headrace.server.access.access import Access
from headrace.server.access.audit import record
from headrace.server.access.decisions import Target, Who
from headrace.server.access.lists import claim, forget
from headrace.server.access.roles import Action, ObjectKind
from headrace.server.services.dashboards import parse as parse_dashboard
from headrace.server.services.mistakes import NotThere, Unwanted

__all__ = ["Application", "ApplicationVersion", "Applications", "Dashboard", "application_target", "starred"]


@dataclass(frozen=True, slots=True)
class ApplicationVersion:
    """One text of an application."""

    name: str
    number: int
    text: str
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True)
class Application:
    """An application and its newest text."""

    name: str
    newest: ApplicationVersion


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The dashboard of an application, as YAML; ``as_file`` if it is as in the file that it was taken of."""

    name: str
    text: str
    changed_at: datetime
    changed_by: str
    as_file: bool = False


class Applications:
    """The applications of a server; a job runs the application of its name."""

    def __init__(self, database: Database, access: Access, clock: Clock) -> None:
        self._database, self._access, self._clock = database, access, clock

    def all(self, who: Who) -> list[Application]:
        """Return the applications that somebody may see, by their names."""
        newest = (ApplicationVersionRow.name == ApplicationRow.name) & (
            ApplicationVersionRow.number == ApplicationRow.version
        )
        with self._database.reading() as session:
            query = select(ApplicationVersionRow).join(ApplicationRow, newest).order_by(ApplicationRow.name)
            found = [Application(row.name, _version(row)) for row in session.scalars(query)]
        targets = self._access.permitted(who, Action.SEE, [application_target(each.name) for each in found])
        seen = {target.name for target in targets}
        return [each for each in found if each.name in seen]

    def versions(self, who: Who, name: str) -> list[ApplicationVersion]:
        """Return all texts of an application, the newest first; what sounds secret is for who may change it."""
        with self._database.reading() as session:
            query = select(ApplicationVersionRow).where(ApplicationVersionRow.name == name)
            rows = session.scalars(query.order_by(ApplicationVersionRow.number.desc()))
            found = [_version(row) for row in rows]
        if not found or not self._access.may(who, Action.SEE, application_target(name)):
            raise NotThere(f'there is no application "{name}"')
        if self._access.may(who, Action.EDIT, application_target(name)):
            return found
        return [replace(each, text=starred(each.text)) for each in found]

    def save(self, who: Who, name: str, text: str, *, expected: int | None = None) -> ApplicationVersion:
        """Keep a text as the newest version; the same text again makes no new one.

        With ``expected``, the version that somebody has seen, it is refused if another has come meanwhile.
        """
        check_name(name)
        target = application_target(name)
        self._access.require_name(who, Action.EDIT, target)
        with self._access.changing(who, Action.EDIT, target) as session:
            return self._keep(session, who, name, text, expected)

    def keep(self, session: Session, who: Who, name: str, text: str) -> None:
        """Keep the text that a job was submitted with, in a transaction; who may submit may do that."""
        take_turns(session, "access")
        self._keep(session, who, name, text, None)

    def _keep(self, session: Session, who: Who, name: str, text: str, expected: int | None) -> ApplicationVersion:
        row = session.get(ApplicationRow, name)
        if expected is not None and (0 if row is None else row.version) != expected:
            newest = "there is none" if row is None else f"the newest version is {row.version}"
            raise Unwanted(f'application "{name}" was changed by somebody else: {newest}', hint="Look, and save again.")
        if row is None:
            there = session.scalar(select(ApplicationRow.name).where(func.lower(ApplicationRow.name) == name.lower()))
            if there is not None:  # access lists know names without regard to case
                raise Unwanted(f'there is an application "{there}" already', hint="Choose another name.")
            row = ApplicationRow(name=name, version=0)
            session.add(row)
            session.flush()
            claim(session, who, application_target(name))
        else:
            last = session.get_one(ApplicationVersionRow, (name, row.version))
            if last.text == text:
                return _version(last)
        row.version += 1
        now = self._clock()
        kept = ApplicationVersionRow(name=name, number=row.version, text=text, created_at=now, created_by=who.name)
        session.add(kept)
        session.flush()
        record(session, now, who, "application.edit", application_target(name), {"version": row.version})
        return _version(kept)

    def delete(self, who: Who, name: str) -> None:
        """Forget an application with all its texts and its dashboard; its job stays."""
        self.versions(who, name)
        target = application_target(name)
        with self._access.changing(who, Action.DELETE, target) as session:
            row = session.get(ApplicationRow, name)
            if row is not None:
                session.delete(row)
                dashboard = session.get(DashboardRow, name)
                if dashboard is not None:
                    session.delete(dashboard)
                forget(session, target)
                record(session, self._clock(), who, "application.delete", target)

    # --- dashboards -----------------------------------------------------------------------------------------

    def dashboards(self, who: Who) -> list[Dashboard]:
        """Return the dashboards of the applications that somebody may see."""
        with self._database.reading() as session:
            found = [_dashboard(row) for row in session.scalars(select(DashboardRow).order_by(DashboardRow.name))]
        targets = self._access.permitted(who, Action.SEE, [application_target(each.name) for each in found])
        seen = {target.name for target in targets}
        return [each for each in found if each.name in seen]

    def dashboard(self, who: Who, name: str) -> Dashboard:
        """Return the dashboard of an application."""
        with self._database.reading() as session:
            row = session.get(DashboardRow, name)
            found = None if row is None else _dashboard(row)
        if found is None or not self._access.may(who, Action.SEE, application_target(name)):
            raise NotThere(f'there is no dashboard "{name}"')
        return found

    def save_dashboard(
        self, who: Who, name: str, text: str, *, from_file: bool = False, over_edited: bool = True
    ) -> Dashboard:
        """Keep the dashboard of an application, new or changed.

        With ``over_edited`` false it is refused if the one that is kept was edited since it was taken of a file.
        """
        check_name(name)
        target = application_target(name)
        self._access.require_name(who, Action.EDIT_DASHBOARD, target)
        parse_dashboard(text, f"{name}.yaml")
        with self._access.changing(who, Action.EDIT_DASHBOARD, target) as session:
            row = session.get(DashboardRow, name)
            now, is_new = self._clock(), row is None
            if row is None:
                row = DashboardRow(name=name, text=text, changed_at=now, changed_by=who.name)
                session.add(row)
            elif row.text != text and not over_edited and row.file_digest != _digest(row.text):
                raise Unwanted(
                    f'the dashboard "{name}" was edited on the server',
                    detail=f"{row.changed_by} changed it at {row.changed_at:%Y-%m-%d %H:%M:%S} UTC.",
                    hint="Take the file's in its place with --dashboard FILE, or bring the file up to date: "
                    f"headrace dashboard show {name} > dashboard.yaml.",
                )
            if from_file:
                row.file_digest = _digest(text)
                if not is_new and row.text == text:
                    return _dashboard(row)
            row.text, row.changed_at, row.changed_by = text, now, who.name
            record(session, now, who, "application.edit_dashboard", target)
            return _dashboard(row)


def application_target(name: str) -> Target:
    """Return an application as access lists know it."""
    return Target(ObjectKind.APPLICATION, name)


def starred(text: str) -> str:
    """Return a text in which the values of options that sound secret are starred out."""
    return without_secrets(text)


def _version(row: ApplicationVersionRow) -> ApplicationVersion:
    return ApplicationVersion(row.name, row.number, row.text, row.created_at, row.created_by)


def _dashboard(row: DashboardRow) -> Dashboard:
    return Dashboard(row.name, row.text, row.changed_at, row.changed_by, row.file_digest == _digest(row.text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
