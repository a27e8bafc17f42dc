"""Made-up jobs, rows and people: lively, and the same at the same instant."""

import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from headrace.server.console.values.jobs import Alert, JobSummary, Point, Savepoint, Version
from headrace.server.console.values.rows import CatalogObject, Column, RowPage
from headrace.server.services.language import Explained, explain
from headrace.server.services.runtime import NodeFigures

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

AREAS = ["orders", "payments", "clicks", "sensors", "auctions", "fraud", "shipping", "search", "sessions", "ledger"]
KINDS = ["alerts", "enrichment", "totals", "quality", "archive"]

FRAUD = """\
-- Card transactions, up to 30 seconds out of order.
CREATE STREAM transactions (
  id STRING NOT NULL,
  account INT NOT NULL,
  amount DECIMAL(12, 2) NOT NULL,
  city STRING,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 30 SECONDS
) WITH (connector = 'kafka', topic = 'transactions');

CREATE TABLE accounts (id INT, holder STRING, country STRING, PRIMARY KEY (id))
  WITH (connector = 'kafka', topic = 'accounts', format = 'upsert');

-- A thief tries a card with next to nothing before the large purchase.
CREATE VIEW small_then_large AS
  SELECT * FROM transactions MATCH_RECOGNIZE (
    PARTITION BY account ORDER BY at
    MEASURES large.id AS id, large.amount AS amount, large.at AS at
    PATTERN (small large) WITHIN INTERVAL 1 MINUTE
    DEFINE small AS small.amount < 1, large AS large.amount > 500);

CREATE MATERIALIZED VIEW spending WITH (key = 'account') AS
  SELECT account, count(*) AS purchases, sum(amount) AS total
  FROM transactions GROUP BY account;

CREATE SINK alerts WITH (connector = 'kafka', topic = 'alerts', key = 'id', format = 'upsert') AS
  SELECT s.id, s.amount, s.at, a.holder, a.country
  FROM small_then_large s JOIN accounts a ON a.id = s.account;
"""

SPENDING = (
    Column("account", "INT"),
    Column("holder", "STRING"),
    Column("country", "STRING"),
    Column("purchases", "BIGINT"),
    Column("total", "DECIMAL(12,2)"),
    Column("last_at", "TIMESTAMP"),
)
COUNTRIES = ["Germany", "France", "Spain", "Italy", "Poland", "Kenya", "Brazil", "Canada", "Japan", "India"]
FIRST = ["Ada", "Bela", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Jana", "Kofi", "Lena"]
LAST = ["Okafor", "Larsen", "Moreau", "Novak", "Silva", "Tanaka", "Weber", "Rossi", "Kowalski", "Mbeki"]


def job_names() -> list[str]:
    return [f"{area}-{kind}" for area in AREAS for kind in KINDS]


def _phase(name: str) -> float:
    return random.Random(name).random()


def state_of(name: str) -> tuple[str, str, str]:
    """State, health and the reason."""
    special = {
        "payments-quality": ("degraded", "bad", "no heartbeat for 42 s"),
        "clicks-archive": ("running", "warning", "412k messages behind and growing"),
        "sensors-alerts": ("restarting", "warning", "third start in five minutes"),
        "auctions-quality": ("failed", "bad", "crash loop: column price is missing in the topic"),
        "search-archive": ("stopped", "unknown", ""),
        "ledger-archive": ("stopped", "unknown", ""),
        "shipping-quality": ("finished", "good", ""),
        "sessions-enrichment": ("submitted", "unknown", "waits for 2 cores"),
        "search-totals": ("running", "warning", "watermark held by partition 3 of searches"),
    }
    if name.startswith("<"):
        return "failed", "bad", f"{name} is no name"
    return special.get(name, ("running", "good", ""))


def rate_at(name: str, at: datetime) -> float:
    state, _, _ = state_of(name)
    if state in {"failed", "stopped", "finished", "submitted", "restarting"}:
        return 0.0
    phase = _phase(name)
    seconds = at.timestamp()
    base = 40 * 10 ** (2.6 * phase)
    wave = 1 + 0.25 * math.sin(seconds / (20 + 40 * phase) + 6 * phase) + 0.1 * math.sin(seconds / 3.1 + phase)
    return round(base * wave * random.Random(f"{name} {int(seconds)}").uniform(0.92, 1.08), 1)


def summary(name: str, now: datetime, owner: str = "dana") -> JobSummary:
    state, health, reason = state_of(name)
    rate = rate_at(name, now)
    phase = _phase(name)
    alive = rate > 0
    jitter = random.Random(f"{name} {int(now.timestamp())} l").uniform(0.8, 1.3)
    lag = timedelta(seconds=(95 if name == "search-totals" else 2 + 8 * phase) * jitter) if alive else None
    return JobSummary(
        name=name,
        application=name.split("-", maxsplit=1)[0],
        state=state,
        health=health,  # type: ignore[arg-type]
        reason=reason,
        owner=owner,
        version=1 + int(5 * phase),
        in_per_second=rate,
        latency=timedelta(milliseconds=(180 + 900 * phase) * jitter) if alive else None,
        lag=lag,
        state_bytes=int(3e5 * 10 ** (3 * phase)) + (int(now.timestamp()) % 600) * 900 if state != "submitted" else 0,
        late=int(40 * phase),
        dead=7 if health == "bad" else 0,
        restarts=3 if name == "sensors-alerts" else 0,
        since_at=START - timedelta(hours=30 * phase),
        recent=tuple(rate_at(name, now - timedelta(seconds=4 * n)) for n in reversed(range(45))),
    )


def point(name: str, at: datetime) -> Point:
    each = summary(name, at)
    return Point(at, each.in_per_second, each.in_per_second * 0.37, each.latency, each.lag, each.state_bytes)


def explained(text: str = FRAUD, folder: Path | None = None) -> Explained:
    return explain(text, "application", folder or Path.cwd())


def steps(name: str, now: datetime) -> tuple[NodeFigures, ...]:
    each = summary(name, now)
    found = []
    for number, node in enumerate(explained().graph.nodes):
        share = 1.0 if node.role == "source" else 0.4 if number % 2 else 0.7
        moving = each.in_per_second > 0
        found.append(
            NodeFigures(
                node=node.id,
                rows_per_second=round(each.in_per_second * share, 1),
                state_rows=int(12_000 + number * 777 + now.timestamp() % 100) if node.state else None,
                state_bytes=int(each.state_bytes * share) if node.state else None,
                watermark_at=now - each.lag if each.lag and node.role != "output" else None,
                lag=each.lag if node.role != "output" else None,
                health=each.health if moving and number == 0 else "good" if moving else "unknown",
                note=each.reason if number == 0 else "",
            )
        )
    return tuple(found)


def versions(now: datetime) -> tuple[Version, ...]:
    texts = (FRAUD, FRAUD.replace("> 500", "> 400"), FRAUD.replace("> 500", "> 300"))
    return tuple(Version(3 - n, START - timedelta(days=9 * n, hours=n), "dana", text) for n, text in enumerate(texts))


def savepoints(now: datetime) -> tuple[Savepoint, ...]:
    return (
        Savepoint("sp-20260301-0400", START - timedelta(hours=29), 3, 48_200_311),
        Savepoint("sp-20260221-1512", START - timedelta(days=9, hours=3), 2, 39_845_120),
    )


def alerts(name: str, now: datetime) -> tuple[Alert, ...]:
    if state_of(name)[1] == "good":
        return ()
    times = [now - timedelta(seconds=20 * n) for n in reversed(range(60))]
    values = [max(0.0, 20 + n * 1.6 + 9 * math.sin(n / 4)) for n in range(60)]
    first = Alert(
        id="a-17",
        raised_at=now - timedelta(minutes=6),
        rule="watermark stuck",
        severity="critical",
        message=f"the watermark of {'searches' if name in job_names() else name} has not moved for 95 s; partition 3 "
        "holds it",
        metric="watermark lag in seconds",
        limit=60.0,
        points=tuple(zip(times, values, strict=True)),
    )
    second = replace(
        first,
        id="a-12",
        raised_at=now - timedelta(hours=5),
        over_at=now - timedelta(hours=4),
        rule="dead rows",
        severity="warning",
        message="7 rows of searches could not be parsed within a minute",
        acknowledged_by="olga",
        metric="dead rows per minute",
        limit=5.0,
    )
    return (first, second)


def evidence(now: datetime) -> RowPage:
    columns = (Column("partition", "INT"), Column("last_row_at", "TIMESTAMP"), Column("messages_behind", "BIGINT"))
    whole = now.replace(microsecond=0)
    rows = tuple((n, whole - timedelta(seconds=3 if n != 3 else 95), 12 if n != 3 else 41_200) for n in range(6))
    return RowPage(columns, rows, len(rows))


def matches() -> RowPage:
    """One match of a pattern with the rows behind it."""
    behind = [
        {"variable": "SMALL", "source": "transactions", "partition": 3, "position": 1204, "id": "t-17"},
        {"variable": "LARGE", "source": "transactions", "partition": 3, "position": 1311, "id": "t-18"},
    ]
    columns = (Column("account", "INT"), Column("amount", "DECIMAL(12,2)"), Column("evidence", "ARRAY"))
    return RowPage(columns, ((42, 612.5, behind),), 1, ("42",))


def spending_row(number: int, now: datetime, changed: int = 0) -> tuple[object, ...]:
    chance = random.Random(number)
    purchases = chance.randint(1, 400) + changed
    total = round(purchases * chance.uniform(4, 90), 2)
    holder = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
    at = START - timedelta(seconds=chance.randint(0, 86_400)) if not changed else now
    if number == 0:
        at = None  # an instant that is not known
    return (number, holder, chance.choice(COUNTRIES), purchases, total, at)


def catalog() -> list[CatalogObject]:
    transactions = (
        Column("id", "STRING"),
        Column("account", "INT"),
        Column("amount", "DECIMAL(12,2)"),
        Column("city", "STRING"),
        Column("at", "TIMESTAMP"),
    )
    return [
        CatalogObject(
            "transactions",
            "stream",
            transactions,
            "fraud-alerts",
            "fraud",
            "kafka",
            (("topic", "transactions"), ("format", "json"), ("late", "keep"), ("sasl_password", "******")),
            "at - INTERVAL 30 SECONDS",
            ("spending", "small_then_large", "alerts"),
        ),
        CatalogObject("transactions.late", "stream", transactions, "fraud-alerts", "fraud", "kafka"),
        CatalogObject(
            "accounts",
            "table",
            (Column("id", "INT"), Column("holder", "STRING"), Column("country", "STRING")),
            "fraud-alerts",
            "fraud",
            "kafka",
            (("topic", "accounts"), ("format", "upsert")),
            used_by=("alerts",),
        ),
        CatalogObject("small_then_large", "view", transactions[:3], "fraud-alerts", "fraud", used_by=("alerts",)),
        CatalogObject("spending", "materialized view", SPENDING, "fraud-totals", "fraud", "sqlite"),
        CatalogObject(
            "per_country",
            "materialized view",
            (
                Column("country", "STRING"),
                Column("purchases", "BIGINT"),
                Column("total", "DECIMAL(12,2)"),
                Column("latitude", "DOUBLE"),
                Column("longitude", "DOUBLE"),
            ),
            "fraud-totals",
            "fraud",
            "sqlite",
        ),
        CatalogObject("matches", "materialized view", matches().columns, "fraud-alerts", "fraud", "sqlite"),
        CatalogObject("alerts", "sink", transactions[:4], "fraud-alerts", "fraud", "kafka", (("topic", "alerts"),)),
    ]


PLACES = {
    "Germany": (51.0, 10.4),
    "France": (46.6, 2.4),
    "Spain": (40.2, -3.6),
    "Italy": (42.8, 12.6),
    "Poland": (52.1, 19.4),
    "Kenya": (0.5, 37.9),
    "Brazil": (-10.8, -52.9),
    "Canada": (57.0, -105.0),
    "Japan": (36.5, 138.0),
    "India": (22.0, 79.0),
}
