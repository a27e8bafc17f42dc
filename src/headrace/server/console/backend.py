"""What the pages ask of a server: plain values in, frozen dataclasses out; every call checks rights again."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from headrace.errors import HeadraceError
from headrace.jobs.last_rows import LastRow
from headrace.server.access.decisions import Decision
from headrace.server.console.values.jobs import (
    Alert,
    AlertRule,
    Job,
    JobSummary,
    LogLine,
    Point,
    RestartOptions,
    RunOptions,
    UpgradeReport,
)
from headrace.server.console.values.people import AuditPage, Entry, Group, Me, NewToken, Shares, Target, Token, User
from headrace.server.console.values.rows import CatalogObject, RowBatch, RowPage
from headrace.server.console.values.texts import ApplicationSummary, DashboardSummary
from headrace.server.services.language import Diagnostic, Explained
from headrace.server.services.rejected import RejectedRows

__all__ = ["Backend", "NotSignedIn"]


class NotSignedIn(HeadraceError):
    """The session is over, or there never was one; the console shows the log-in page."""


class Backend(Protocol):
    """The server as one user's session sees it.

    What a user does wrong, and what he may not do, raises ``HeadraceError``; a session that is over raises
    ``NotSignedIn``. Nothing here blocks: what takes long is awaited. An iterator that is given up is closed.
    """

    # session
    async def me(self) -> Me:
        """Return who is logged in."""

    async def may(self, action: str, target: Target) -> Decision:
        """Say whether the user may do something; actions are those of ``server.access``, such as stop or submit."""

    async def sign_in(self, name: str, password: str, address: str) -> str:
        """Return the token of a new session, which is kept in a cookie."""

    async def sign_out(self) -> None:
        """End the session."""

    async def change_password(self, old: str, new: str) -> None:
        """Change the user's own password."""

    # language
    async def check(self, text: str, application: str = "") -> Sequence[Diagnostic]:
        """Return what is wrong with a text, without a JVM; the job of an application lends its folder and variables."""

    async def explain(self, text: str, application: str = "") -> Explained:
        """Return what a text without mistakes would do; the job of an application lends its folder and variables."""

    def preview(self, text: str, application: str = "") -> AsyncIterator[RowBatch]:
        """Run the last query of a text without submitting it, and give its rows as they come."""

    async def applications(self) -> Sequence[ApplicationSummary]:
        """Return the applications that the user may see."""

    async def application(self, name: str) -> str:
        """Return the text of an application."""

    async def save_application(self, name: str, text: str) -> None:
        """Keep the text of an application, new or changed."""

    # jobs
    async def jobs(self) -> Sequence[JobSummary]:
        """Return the jobs that the user may see."""

    async def job(self, name: str) -> Job:
        """Return one job."""

    async def history(self, name: str, after: datetime | None = None) -> Sequence[Point]:
        """Return the figures of a job over time, oldest first, or only those after an instant."""

    def logs(self, name: str) -> AsyncIterator[Sequence[LogLine]]:
        """Give the last lines of a job's log at once, then new ones as they are written."""

    async def rejected(self, name: str, limit: int = 200) -> RejectedRows:
        """Return how many rows of a job came late, and its last dead records."""

    async def shown_rows(self, name: str) -> Sequence[LastRow]:
        """Return the last rows of a job's bare SELECTs and console sinks, newest first."""

    async def alerts(self, name: str) -> Sequence[Alert]:
        """Return the alerts of a job, newest first."""

    async def evidence(self, name: str, alert: str) -> RowPage:
        """Return the facts behind an alert of a job."""

    async def acknowledge(self, name: str, alert: str) -> None:
        """Take note of an alert."""

    async def all_alerts(self) -> Sequence[Alert]:
        """Return the alerts of all jobs that the user may see, newest first, those that are over too."""

    async def alert_rules(self) -> Sequence[AlertRule]:
        """Return the rules of alerts by name."""

    async def save_alert_rule(self, rule: AlertRule) -> None:
        """Add a rule, or change the one of that name."""

    async def delete_alert_rule(self, name: str) -> None:
        """Remove a rule that people have made."""

    async def submit(self, name: str, text: str, options: RunOptions) -> str:
        """Submit an application; return the name of its job."""

    async def stop(self, name: str, *, savepoint: bool) -> None:
        """Stop a job, with its state kept in a savepoint or without."""

    async def restart(self, name: str, how: RestartOptions) -> None:
        """Start a job again: from where it was, from a savepoint, or from nothing, also with sources from a time on."""

    async def make_savepoint(self, name: str) -> str:
        """Copy a job's state; one that runs stops for it and goes on. Return the savepoint's id."""

    async def delete_savepoint(self, name: str, savepoint: str) -> None:
        """Delete a savepoint and its files."""

    async def upgrade_report(self, name: str, text: str) -> UpgradeReport:
        """Return what a new version would do to the state; change nothing."""

    async def upgrade(self, name: str, text: str, *, beside: bool = False) -> None:
        """Run a new version of a job on its old state, or build it anew beside the old one and swap in the end."""

    async def rebuild(self, name: str, from_time: datetime | None = None) -> None:
        """Build a job anew beside itself, from all that its sources hold or from a time, and swap in the end."""

    async def cancel_rebuild(self, name: str) -> None:
        """Give up a rebuild, or forget one that has failed."""

    async def delete_job(self, name: str) -> None:
        """Delete a job that is over; refused with their names while others use its views."""

    # catalog and views
    async def catalog(self) -> Sequence[CatalogObject]:
        """Return every object that the user may see."""

    async def view_rows(
        self,
        name: str,
        *,
        search: str = "",
        order_by: str | None = None,
        descending: bool = False,
        offset: int = 0,
        limit: int = 100,
    ) -> RowPage:
        """Return some rows of a view, and how many there are."""

    async def query(self, text: str, limit: int = 1000) -> RowPage:
        """Answer a SELECT over views."""

    def changes(self, name: str) -> AsyncIterator[RowBatch]:
        """Give the changes of a view as they happen."""

    async def records(self, job: str, places: Sequence[str]) -> Sequence[str | None]:
        """Return the records at places that a job has read, as text; None for what is gone.

        A place is topic:partition:offset, or file:block:number.
        """

    def tap(self, name: str) -> AsyncIterator[RowBatch]:
        """Give rows of a stream as they come: a sample when they are many."""

    # dashboards
    async def dashboards(self) -> Sequence[DashboardSummary]:
        """Return the dashboards that the user may see."""

    async def dashboard(self, name: str) -> str:
        """Return the YAML text of a dashboard."""

    async def save_dashboard(self, name: str, text: str, *, expected: str | None = None) -> None:
        """Keep the YAML text of a dashboard, new or changed.

        With ``expected``, the text that was changed or nothing for a new one, it is refused if another is kept by now.
        """

    # people
    async def users(self) -> Sequence[User]:
        """Return all users."""

    async def add_user(self, name: str, role: str) -> str:
        """Add a user; return the first password, which is shown this once."""

    async def change_user(
        self, name: str, *, role: str | None = None, active: bool | None = None, groups: Sequence[str] | None = None
    ) -> None:
        """Change what is given and leave the rest."""

    async def delete_user(self, name: str) -> None:
        """Delete a user with tokens, sessions and lines in access lists."""

    async def reset_password(self, name: str) -> str:
        """Give a user a new password, which is shown this once."""

    async def groups(self) -> Sequence[Group]:
        """Return all groups."""

    async def add_group(self, name: str) -> None:
        """Add a group without members."""

    async def delete_group(self, name: str) -> None:
        """Delete a group."""

    async def tokens(self) -> Sequence[Token]:
        """Return the user's own tokens; an admin's are everybody's."""

    async def add_token(self, name: str, role: str, lifetime: timedelta) -> NewToken:
        """Make a token for the user."""

    async def revoke_token(self, token: str) -> None:
        """End a token."""

    async def entries(self) -> Sequence[Entry]:
        """Return every line of every access list."""

    async def shares(self, job: str) -> Shares:
        """Return who may reach a job, to its owner and to admins."""

    async def restrict(self, job: str, *, restricted: bool) -> None:
        """Let only its owner, admins and those whom its list names reach a job, or let roles decide again."""

    async def add_entry(self, entry: Entry) -> None:
        """Add a line to an access list; its id is given by the server."""

    async def delete_entry(self, entry: str) -> None:
        """Take a line out of an access list."""

    async def audit(self, *, search: str = "", before: int | None = None, limit: int = 200) -> AuditPage:
        """Return what was done, newest first: the newest, or the page that begins where another said."""
