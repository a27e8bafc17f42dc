"""A server in memory, for browser tests and for looking at: fifty jobs, a view of 10,000 rows, four people."""

import asyncio
import random
import secrets
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jobs.last_rows import LastRow
from headrace.server.access.decisions import Decision
from headrace.server.console.backend import NotSignedIn
from headrace.server.console.values.jobs import (
    Alert,
    AlertRule,
    Job,
    JobSummary,
    LogLine,
    Output,
    Point,
    RestartOptions,
    RunOptions,
    UpgradeItem,
    UpgradeReport,
    Version,
)
from headrace.server.console.values.people import (
    AuditEntry,
    AuditPage,
    Entry,
    Group,
    Me,
    NewToken,
    Shares,
    Target,
    Token,
    User,
)
from headrace.server.console.values.rows import CatalogObject, Column, RowBatch, RowPage
from headrace.server.console.values.texts import ApplicationSummary, DashboardSummary
from headrace.server.services.dashboards import parse
from headrace.server.services.language import Diagnostic, Explained, check
from headrace.server.services.rejected import LateCount, RejectedRow, RejectedRows
from server.console import fake_data as data

PASSWORD = "water"
ROLES = ["viewer", "operator", "developer", "admin"]
NEEDS = {
    "operator": {"start", "stop", "restart", "savepoint", "acknowledge"},
    "developer": {
        "check",
        "try",
        "submit",
        "upgrade",
        "edit",
        "edit_dashboard",
        "edit_alerts",
        "replay",
        "delete",
        "share",
    },
    "admin": {"manage_users", "manage_groups", "manage_access", "read_audit", "change_settings"},
}

DASHBOARD = """\
title: Card fraud
refresh: 1 second
panels:
  - kind: number
    title: Purchases so far
    query: SELECT sum(purchases) AS purchases FROM spending
    width: 3
    height: 2
  - kind: number
    title: Largest total
    query: SELECT max(total) AS total FROM spending
    unit: EUR
    width: 3
    height: 2
  - kind: map
    title: Where cards are used
    query: SELECT country, latitude, longitude, purchases FROM per_country
    label: country
    latitude: latitude
    longitude: longitude
    value: purchases
    width: 6
    height: 4
  - kind: bar
    title: Purchases per country
    query: SELECT country, purchases FROM per_country ORDER BY country
    x: country
    y: [purchases]
    width: 6
    height: 4
  - kind: table
    title: Who spends most
    query: SELECT holder, country, total FROM spending ORDER BY total DESC LIMIT 20
    width: 6
    height: 4
  - kind: line
    title: Purchases over time
    query: SELECT sum(purchases) AS purchases FROM spending
    y: [purchases]
    width: 6
    height: 3
"""


@dataclass
class Store:
    """What all sessions share; ``now`` is the clock, ``folder`` keeps applications and dashboards as files."""

    folder: Path
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    sessions: dict[str, str] = field(default_factory=dict)
    overrides: dict[str, JobSummary] = field(default_factory=dict)
    submitted: dict[str, str] = field(default_factory=dict)
    options: dict[str, RunOptions] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    changed: dict[int, int] = field(default_factory=dict)
    kept: list[tuple[object, ...]] = field(default_factory=list)
    answering: tuple[dict[int, int], sqlite3.Connection] | None = None
    people: dict[str, User] = field(default_factory=dict)
    restricted: set[str] = field(default_factory=set)
    resources: dict[str, str] = field(default_factory=dict)
    group_names: list[str] = field(default_factory=lambda: ["fraud-team", "operations"])
    token_list: list[Token] = field(default_factory=list)
    entry_list: list[Entry] = field(default_factory=list)
    audit_list: list[AuditEntry] = field(default_factory=list)
    version_texts: dict[str, list[Version]] = field(default_factory=dict)
    acknowledged: dict[str, str] = field(default_factory=dict)
    rules: dict[str, AlertRule] = field(
        default_factory=lambda: {
            "crash loop": AlertRule("crash loop", "crash-loop", "*", {}, "standard"),
            "far behind": AlertRule("far behind", "lag", "fraud-*", {"messages": 5000}, "server", "dana"),
            "of the file": AlertRule("of the file", "dead-rows", "*", {"more_than": 10}, "file"),
        }
    )

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, role, groups in (
            ("ada", "admin", ()),
            ("dana", "developer", ("fraud-team",)),
            ("olga", "operator", ("operations",)),
            ("victor", "viewer", ()),
        ):
            self.people[name] = User(name, role, groups, True, data.START - timedelta(minutes=len(name) * 17))
        self.token_list.append(
            Token("tk1", "ci", "dana", "developer", data.START - timedelta(days=20), data.START + timedelta(days=70))
        )
        self.entry_list += [
            Entry("1", "allow", "group", "operations", "job", "fraud-*", "operator"),
            Entry("2", "deny", "user", "victor", "view", "spending", "read_rows"),
        ]
        texts = {"fraud": data.FRAUD, "page_views": "SELECT 1 AS one;\n"}
        for name, text in texts.items():
            (self.folder / f"{name}.sql").write_text(text, "utf-8")
        (self.folder / "fraud.dashboard.yaml").write_text(DASHBOARD, "utf-8")
        for n in range(250):
            self.audit_list.append(
                AuditEntry(
                    data.START - timedelta(minutes=13 * n),
                    ["dana", "olga", "ada"][n % 3],
                    ["submit", "restart", "manage_users", "upgrade", "stop"][n % 5],
                    ["job fraud-alerts", "job clicks-totals", "user victor"][n % 3],
                    "done" if n % 7 else "refused: it needs the role developer, and olga is operator",
                    "127.0.0.1",
                    f"version {n}",
                )
            )

    def touch(self, count: int = 3) -> list[int]:
        """Change some rows of the view, and return which."""
        chosen = [random.Random(f"{len(self.changed)} {n}").randrange(60) for n in range(count)]
        for number in chosen:
            self.changed[number] = self.changed.get(number, 0) + 1
        return chosen

    def rows(self) -> list[tuple[object, ...]]:
        if not self.kept:
            self.kept = [data.spending_row(n, data.START) for n in range(10_000)]
        now = self.now().replace(microsecond=0)
        found = list(self.kept)
        for number, times in self.changed.items():
            found[number] = data.spending_row(number, now, times)
        return found

    def database(self) -> sqlite3.Connection:
        """Views as they are now, in a database that answers queries."""
        if self.answering is not None and self.answering[0] == self.changed:
            return self.answering[1]
        connection = sqlite3.connect(":memory:")
        for name, columns, rows in (
            ("spending", data.SPENDING, self.rows()),
            ("per_country", data.catalog()[5].columns, self.per_country()),
        ):
            connection.execute(f"CREATE TABLE {name} ({', '.join(c.name for c in columns)})")
            marks = ", ".join("?" * len(columns))
            plain = [tuple(str(v) if isinstance(v, datetime) else v for v in row) for row in rows]
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", plain)
        self.answering = (dict(self.changed), connection)
        return connection

    def per_country(self) -> list[tuple[object, ...]]:
        found = []
        rows = self.rows()
        for country, (latitude, longitude) in data.PLACES.items():
            mine = [row for row in rows if row[2] == country]
            total = round(sum(float(str(row[4])) for row in mine), 2)
            found.append((country, sum(int(str(row[3])) for row in mine), total, latitude, longitude))
        return found


class FakeBackend:
    """The store as one session sees it."""

    def __init__(self, store: Store, token: str | None) -> None:
        self.store = store
        self.token = token

    def _user(self) -> User:
        name = self.store.sessions.get(self.token or "")
        if name is None:
            raise NotSignedIn("nobody is logged in")
        return self.store.people[name]

    def _must(self, action: str, target: Target) -> None:
        decision = self._may(action, target)
        if not decision:
            raise HeadraceError(f"this is not allowed: {decision.reason}")

    def _may(self, action: str, target: Target) -> Decision:
        user = self._user()
        needed = next((role for role, actions in NEEDS.items() if action in actions), "viewer")
        if ROLES.index(user.role) >= ROLES.index(needed):
            return Decision(True, f"the role {user.role} allows it")
        return Decision(False, f"it needs the role {needed}, and {user.name} is {user.role}")

    # session
    async def me(self) -> Me:
        user = self._user()
        return Me(user.name, user.role)

    async def may(self, action: str, target: Target) -> Decision:
        return self._may(action, target)

    async def sign_in(self, name: str, password: str, address: str) -> str:
        if name not in self.store.people or password != PASSWORD:
            raise HeadraceError("name or password is wrong", hint="Ask an admin for a new password.")
        token = secrets.token_urlsafe(24)
        self.store.sessions[token] = name
        return token

    async def sign_out(self) -> None:
        self._user()
        self.store.sessions.pop(self.token or "")

    async def change_password(self, old: str, new: str) -> None:
        if old != PASSWORD:
            raise HeadraceError("the old password is wrong")

    # language
    async def check(self, text: str, application: str = "") -> Sequence[Diagnostic]:
        return check(text, "application", self.store.folder if application else Path.cwd())

    async def explain(self, text: str, application: str = "") -> Explained:
        return data.explained(text, self.store.folder if application else None)

    async def preview(self, text: str, application: str = "") -> AsyncIterator[RowBatch]:
        self._must("try", Target("application"))
        data.explained(text, self.store.folder if application else None)  # raises the mistake in it
        columns = (Column("page", "STRING"), Column("window_end", "TIMESTAMP"), Column("clicks", "BIGINT"))
        number = 0
        while True:
            number += 1
            at = self.store.now().replace(microsecond=0)
            rows = tuple((f"/page/{n}", at, number * 7 + n) for n in range(3))
            yield RowBatch(columns, rows, changes=("insert", "insert", "delete" if number % 3 == 0 else "insert"))
            await asyncio.sleep(0.7)

    async def applications(self) -> Sequence[ApplicationSummary]:
        files = sorted(self.store.folder.glob("*.sql"))
        return [ApplicationSummary(file.stem, data.START, "dana", ("fraud-alerts",)) for file in files]

    async def application(self, name: str) -> str:
        file = self.store.folder / f"{name}.sql"
        if not file.exists():
            raise HeadraceError(f'there is no application "{name}"', hint="Choose one of the list in the editor.")
        return file.read_text("utf-8")

    async def save_application(self, name: str, text: str) -> None:
        self._must("edit", Target("application", name))
        if not name.replace("_", "").replace("-", "").isalnum():
            raise HeadraceError(f'"{name}" is no name', hint="Use letters, digits, - and _.")
        (self.store.folder / f"{name}.sql").write_text(text, "utf-8")

    # jobs
    def _names(self) -> list[str]:
        return [n for n in [*data.job_names(), *self.store.submitted] if n not in self.store.deleted]

    def _summary(self, name: str) -> JobSummary:
        if name not in self._names():
            raise HeadraceError(f'there is no job "{name}"', hint="The overview shows all jobs.")
        return self.store.overrides.get(name) or data.summary(name, self.store.now())

    async def jobs(self) -> Sequence[JobSummary]:
        self._user()
        return [self._summary(name) for name in self._names()]

    async def job(self, name: str) -> Job:
        self._user()
        now = self.store.now()
        summary = self._summary(name)
        error = None
        if summary.state == "failed":
            error = HeadraceError(
                f"the topic has no column {'price' if name in data.job_names() else name}",
                detail="Message 12 at offset 1,204 of partition 0 has auction, bidder and placed_at.",
                hint="Change the stream, or send price again, and restart the job.",
            )
        watermark = now - summary.lag if summary.lag else None
        return Job(
            summary,
            data.explained().graph,
            data.steps(name, now),
            (
                *((Output("by_city", "view", 7, 0.5, watermark),) if name in self.store.version_texts else ()),
                Output("spending", "view", 120_431, summary.in_per_second * 0.4, watermark),
                Output("alerts", "sink", 318, 0.02, watermark),
                Output("query_1", "screen", 30, 0.5, watermark),
            ),
            (*self.store.version_texts.get(name, ()), *data.versions(now)),
            tuple(each for each in data.savepoints(now) if each.id not in self.store.gone),
            error,
            self.store.resources.get(name, "local, 2 cores, 1 GB"),
        )

    async def history(self, name: str, after: datetime | None = None) -> Sequence[Point]:
        now = self.store.now().replace(microsecond=0)
        times = [now - timedelta(seconds=2 * n) for n in reversed(range(150))]
        return [data.point(name, at) for at in times if after is None or at > after]

    async def logs(self, name: str) -> AsyncIterator[Sequence[LogLine]]:
        self._user()
        now = self.store.now()
        words = [
            "batch {} done in 312 ms, 1,204 rows",
            "state of spending committed at version {}",
            "offsets {} stored",
        ]
        lines = [
            LogLine(now - timedelta(seconds=3 * (80 - n)), "WARN" if n % 17 == 5 else "INFO", words[n % 3].format(n))
            for n in range(80)
        ]
        lines[60] = LogLine(lines[60].at, "ERROR", f"{name} could not reach broker 2: connection refused")
        yield lines
        number = 80
        while True:
            await asyncio.sleep(0.8)
            number += 1
            yield [LogLine(self.store.now(), "INFO", words[number % 3].format(number))]

    async def rejected(self, name: str, limit: int = 200) -> RejectedRows:
        now = self.store.now()
        dead = tuple(
            RejectedRow(
                "transactions",
                "amount is not a DECIMAL(12,2)",
                f'{{"id": "t{n}", "account": {n * 3}, "amount": "a lot", "of": "{name}"}}',
                "partition 2, offset " + str(9_120 + n),
                now,
            )
            for n in range(data.summary(name, now).dead)
        )
        passed = now - timedelta(seconds=40)
        came = passed - timedelta(seconds=7)
        late = (
            RejectedRow(
                "transactions",
                f"event time {came:%Y-%m-%d %H:%M:%S} is behind the watermark {passed:%Y-%m-%d %H:%M:%S}",
                f'{{"id": "t7", "account": 3, "amount": "12.00", "at": "{came.isoformat()}"}}',
                "transactions:2:9117",
                now,
            ),
        )
        return RejectedRows((LateCount("spending + per_country", 24, passed),), late, dead, forgotten=("accounts",))

    async def shown_rows(self, name: str) -> Sequence[LastRow]:
        now = self.store.now()
        return [
            LastRow("query_1", n, now.isoformat(), "insert", f'{{"page": "/{n}", "clicks": {n * 7}}}')
            for n in range(30, 0, -1)
        ]

    async def alerts(self, name: str) -> Sequence[Alert]:
        found = data.alerts(name, self.store.now())
        return [replace(a, acknowledged_by=self.store.acknowledged.get(a.id, a.acknowledged_by)) for a in found]

    async def evidence(self, name: str, alert: str) -> RowPage:
        self._user()
        return data.evidence(self.store.now()) if alert == "a-17" else RowPage((), (), 0)

    async def records(self, job: str, places: Sequence[str]) -> Sequence[str | None]:
        self._must("tap", Target("stream", "transactions"))
        return ['{"id": "t-17", "amount": 0.50}' if each.endswith(":1204") else None for each in places]

    async def acknowledge(self, name: str, alert: str) -> None:
        self._must("acknowledge", Target("job", name))
        self.store.acknowledged[alert] = self._user().name

    async def all_alerts(self) -> Sequence[Alert]:
        names = [each for each in self._names() if data.state_of(each)[1] in {"warning", "bad"}]
        return [replace(alert, job=name) for name in names for alert in await self.alerts(name)]

    async def alert_rules(self) -> Sequence[AlertRule]:
        return sorted(self.store.rules.values(), key=lambda each: each.name)

    async def save_alert_rule(self, rule: AlertRule) -> None:
        self._must("edit_alerts", Target("job", rule.job))
        if not rule.name:
            raise HeadraceError("a rule needs a name of 1 to 100 characters that can be printed")
        self.store.rules[rule.name] = replace(rule, changed_by=self._user().name)

    async def delete_alert_rule(self, name: str) -> None:
        self._must("edit_alerts", Target("job"))
        del self.store.rules[name]

    async def submit(self, name: str, text: str, options: RunOptions) -> str:
        self._must("submit", Target("application", name))
        if not name:
            raise HeadraceError("the application has no name", hint="Give it one, for example fraud.")
        if name in self._names():
            raise HeadraceError(f'there is already a job "{name}"', hint="Upgrade it, or choose another name.")
        self.store.submitted[name] = text
        self.store.options[name] = options
        return name

    def _into(self, name: str, state: str) -> None:
        health = "good" if state == "running" else "unknown"
        summary = replace(self._summary(name), state=state, health=health, reason="", since_at=self.store.now())
        if state != "running":
            summary = replace(summary, in_per_second=0.0, latency=None, lag=None)
        self.store.overrides[name] = summary

    async def stop(self, name: str, *, savepoint: bool) -> None:
        self._must("stop", Target("job", name))
        self._into(name, "stopped")

    async def restart(self, name: str, how: RestartOptions) -> None:
        self._must("restart", Target("job", name))
        if how.cores is not None or how.memory is not None:
            self.store.resources[name] = f"{how.cores or 1} cores, {how.memory or 1024} MB"
        self.store.overrides.pop(name, None)
        if data.state_of(name)[0] != "running":
            self._into(name, "running")

    async def rebuild(self, name: str, from_time: datetime | None = None) -> None:
        self._must("replay", Target("job", name))

    async def cancel_rebuild(self, name: str) -> None:
        self._must("replay", Target("job", name))

    async def make_savepoint(self, name: str) -> str:
        self._must("savepoint", Target("job", name))
        return "sp-new"

    async def delete_savepoint(self, name: str, savepoint: str) -> None:
        self._must("delete", Target("job", name))
        self.store.gone.add(savepoint)

    async def upgrade_report(self, name: str, text: str) -> UpgradeReport:
        self._must("upgrade", Target("job", name))
        data.explained(text)  # raises the mistake in it
        return UpgradeReport(
            (
                UpgradeItem("spending", "kept", "its query and its key are the same"),
                UpgradeItem("small_then_large", "rebuilt", "the condition of large has changed"),
                UpgradeItem("alerts", "kept", "it reads a view that is rebuilt; rows already sent stay sent"),
            ),
            warnings=("Matches that are half found now are lost: the pattern begins anew.",),
        )

    async def upgrade(self, name: str, text: str, *, beside: bool = False) -> None:
        self._must("upgrade", Target("job", name))
        versions = self.store.version_texts.setdefault(name, [])
        versions.insert(0, Version(4 + len(versions), self.store.now(), self._user().name, text))

    async def delete_job(self, name: str) -> None:
        self._must("delete", Target("job", name))
        if name == "fraud-totals":
            raise HeadraceError(
                'job "fraud-totals" is in use',
                detail="Its view spending is read by fraud-alerts and by the dashboard fraud.",
                hint="Stop or change them first.",
            )
        self.store.deleted.add(name)

    # catalog and views
    async def catalog(self) -> Sequence[CatalogObject]:
        self._user()
        return data.catalog()

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
        self._must("read_rows", Target("view", name))
        name = name.rpartition(".")[2]
        if name == "matches":
            return data.matches()
        if name not in {"spending", "per_country"}:
            raise HeadraceError(f'there is no view "{name}"')
        columns = data.SPENDING if name == "spending" else data.catalog()[5].columns
        rows = self.store.rows() if name == "spending" else self.store.per_country()
        if search:
            rows = [row for row in rows if any(search.lower() in str(value).lower() for value in row)]
        if order_by:
            place = [c.name for c in columns].index(order_by)
            rows.sort(key=lambda row: row[place], reverse=descending)  # type: ignore[arg-type,return-value]
        part = rows[offset : offset + limit]
        return RowPage(columns, tuple(part), len(rows), tuple(str(row[0]) for row in part))

    async def query(self, text: str, limit: int = 1000) -> RowPage:
        self._user()
        try:
            cursor = self.store.database().execute(text)
            rows = cursor.fetchmany(limit)
        except sqlite3.Error as error:
            raise HeadraceError(
                f"the query cannot be answered: {error}", hint="Views: spending, per_country."
            ) from None
        types = ["BIGINT" if rows and isinstance(value, int | float) else "STRING" for value in (rows or [()])[0]]
        names = [each[0] for each in cursor.description]
        columns = tuple(Column(n, t) for n, t in zip(names, types or ["STRING"] * len(names), strict=False))
        return RowPage(columns, tuple(rows), len(rows))

    async def changes(self, name: str) -> AsyncIterator[RowBatch]:
        self._user()
        if name.endswith("per_country"):
            yield RowBatch(data.catalog()[5].columns, ())
            raise HeadraceError("changes are no longer kept")
        while True:
            await asyncio.sleep(0.6)
            chosen = self.store.touch()
            now = self.store.now()
            rows = tuple(data.spending_row(n, now, self.store.changed[n]) for n in chosen)
            yield RowBatch(data.SPENDING, rows, tuple(str(n) for n in chosen), ("update",) * len(rows))

    async def tap(self, name: str) -> AsyncIterator[RowBatch]:
        self._must("tap", Target("stream", name))
        columns = next(each.columns for each in data.catalog() if name in {each.name, each.full_name})
        number = 0
        while True:
            number += 1
            at = self.store.now().replace(microsecond=0)
            rows = tuple(
                (f"t{number}{n}", number * 13 % 997, round(3.5 * n + number, 2), random.Random(n).choice(data.LAST), at)
                for n in range(4)
            )
            yield RowBatch(columns, tuple(row[: len(columns)] for row in rows))
            await asyncio.sleep(0.8)

    # dashboards
    async def dashboards(self) -> Sequence[DashboardSummary]:
        self._user()
        found = []
        for file in sorted(self.store.folder.glob("*.dashboard.yaml")):
            name = file.name.removesuffix(".dashboard.yaml")
            parsed = parse(file.read_text("utf-8"), file.name)
            found.append(DashboardSummary(name, parsed.title, name, len(parsed.panels)))
        return found

    async def dashboard(self, name: str) -> str:
        file = self.store.folder / f"{name}.dashboard.yaml"
        if not file.exists():
            raise HeadraceError(f'there is no dashboard "{name}"', hint="The list of dashboards shows all.")
        return file.read_text("utf-8")

    async def save_dashboard(self, name: str, text: str, *, expected: str | None = None) -> None:
        self._must("edit_dashboard", Target("application", name))
        file = self.store.folder / f"{name}.dashboard.yaml"
        if expected is not None and expected != (file.read_text("utf-8") if file.exists() else ""):
            raise HeadraceError(f'the dashboard "{name}" is no longer as you have seen it')
        file.write_text(text, "utf-8")

    # people
    async def users(self) -> Sequence[User]:
        return list(self.store.people.values())

    async def add_user(self, name: str, role: str) -> str:
        self._must("manage_users", Target("user", name))
        if name in self.store.people:
            raise HeadraceError(f'there is already a user "{name}"')
        self.store.people[name] = User(name, role, ())
        return "first-" + secrets.token_urlsafe(9)

    async def change_user(
        self, name: str, *, role: str | None = None, active: bool | None = None, groups: Sequence[str] | None = None
    ) -> None:
        self._must("manage_users", Target("user", name))
        user = self.store.people[name]
        self.store.people[name] = replace(
            user,
            role=role or user.role,
            active=user.active if active is None else active,
            groups=user.groups if groups is None else tuple(groups),
        )

    async def delete_user(self, name: str) -> None:
        self._must("manage_users", Target("user", name))
        del self.store.people[name]

    async def reset_password(self, name: str) -> str:
        self._must("manage_users", Target("user", name))
        return "new-" + secrets.token_urlsafe(9)

    async def groups(self) -> Sequence[Group]:
        return [
            Group(name, tuple(u.name for u in self.store.people.values() if name in u.groups))
            for name in self.store.group_names
        ]

    async def add_group(self, name: str) -> None:
        self._must("manage_groups", Target("group", name))
        self.store.group_names.append(name)

    async def delete_group(self, name: str) -> None:
        self._must("manage_groups", Target("group", name))
        self.store.group_names.remove(name)

    async def tokens(self) -> Sequence[Token]:
        user = self._user()
        return [each for each in self.store.token_list if user.role == "admin" or each.owner == user.name]

    async def add_token(self, name: str, role: str, lifetime: timedelta) -> NewToken:
        now = self.store.now()
        token = Token(secrets.token_hex(3), name, self._user().name, role, now, now + lifetime)
        self.store.token_list.append(token)
        return NewToken(token, "hr_" + secrets.token_urlsafe(24))

    async def revoke_token(self, token: str) -> None:
        self.store.token_list[:] = [each for each in self.store.token_list if each.id != token]

    async def entries(self) -> Sequence[Entry]:
        return list(self.store.entry_list)

    async def shares(self, job: str) -> Shares:
        about = tuple(each for each in self.store.entry_list if each.kind == "job" and each.pattern == job)
        return Shares(None, job in self.store.restricted, about)

    async def restrict(self, job: str, *, restricted: bool) -> None:
        self._must("manage_access", Target("job", job))
        (self.store.restricted.add if restricted else self.store.restricted.discard)(job)

    async def add_entry(self, entry: Entry) -> None:
        self._must("manage_access", Target("job"))
        self.store.entry_list.append(replace(entry, id=secrets.token_hex(3)))

    async def delete_entry(self, entry: str) -> None:
        self._must("manage_access", Target("job"))
        self.store.entry_list[:] = [each for each in self.store.entry_list if each.id != entry]

    async def audit(self, *, search: str = "", before: int | None = None, limit: int = 200) -> AuditPage:
        self._must("read_audit", Target("system"))
        words, start = search.lower(), before or 0
        fit = [e for e in self.store.audit_list if words in f"{e.user} {e.action} {e.target} {e.outcome}".lower()]
        end = start + limit
        return AuditPage(tuple(fit[start:end]), end if end < len(fit) else None)
