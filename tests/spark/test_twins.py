"""Random rows, cut into random batches: each operator against a slow, obvious twin in Python."""

import json
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from headrace.errors import Source
from headrace.values import json_value

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, tzinfo=UTC)
DELAY = 5
APPLICATION = f"""
CREATE STREAM s (id INT, k STRING, at TIMESTAMP, x INT, WATERMARK FOR at AS at - INTERVAL {DELAY} SECONDS)
  WITH (connector = 'memory');
CREATE STREAM r (id INT, k STRING, at TIMESTAMP, x INT, WATERMARK FOR at AS at - INTERVAL {DELAY} SECONDS)
  WITH (connector = 'memory');
CREATE VIEW hop AS SELECT k, window_start, window_end, count(*) AS n, sum(x) AS total, min(x) AS low, max(x) AS high,
    avg(x) AS mean, max_by(id, x * 1000 + id) AS best, count(x) FILTER (WHERE x > 5) AS big, collect_set(x) AS seen
  FROM HOP(s, at, INTERVAL 4 SECONDS, INTERVAL 10 SECONDS) GROUP BY k, window_start, window_end;
CREATE VIEW expanded AS SELECT k, window_start, window_end, count(DISTINCT x) AS kinds
  FROM HOP(s, at, INTERVAL 4 SECONDS, INTERVAL 10 SECONDS) GROUP BY k, window_start, window_end;
CREATE VIEW cumulate AS SELECT k, window_start, window_end, sum(x) AS total
  FROM CUMULATE(s, at, INTERVAL 3 SECONDS, INTERVAL 12 SECONDS) GROUP BY k, window_start, window_end;
CREATE VIEW session AS SELECT k, window_start, window_end, count(*) AS n
  FROM SESSION(s, at, INTERVAL 2 SECONDS) GROUP BY k, window_start, window_end;
CREATE VIEW inner_ AS SELECT s.id AS a, r.id AS b FROM s JOIN r
  ON s.k = r.k AND r.at BETWEEN s.at - INTERVAL 2 SECONDS AND s.at + INTERVAL 3 SECONDS;
CREATE VIEW full_ AS SELECT s.id AS a, r.id AS b FROM s FULL JOIN r
  ON s.k = r.k AND r.at BETWEEN s.at - INTERVAL 2 SECONDS AND s.at + INTERVAL 3 SECONDS;
CREATE VIEW keyed AS SELECT k, count(*) AS n, sum(x) AS total FROM s GROUP BY k HAVING count(*) % 3 <> 0;
CREATE VIEW top AS SELECT window_end, k, n FROM (
    SELECT window_end, k, count(*) AS n FROM TUMBLE(s, at, INTERVAL 10 SECONDS) GROUP BY k, window_end)
  QUALIFY row_number() OVER (PARTITION BY window_end ORDER BY n DESC, k) <= 2;
"""
VIEWS = ("hop", "expanded", "cumulate", "session", "inner_", "full_", "keyed", "top")


def rows_of(random_: random.Random, count: int) -> list[dict]:
    """Rows whose times are out of order by no more than the watermark allows."""
    rows = []
    for number in range(count):
        at = number * 400 + random_.randrange(0, (DELAY - 1) * 1000)
        x = random_.choice([None, *range(10)])
        rows.append({"id": number, "k": random_.choice("abc"), "ms": at, "x": x})
    return rows


def lines(rows: list[dict]) -> list[str]:
    return [
        json.dumps(
            {
                "id": r["id"],
                "k": r["k"],
                "x": r["x"],
                "at": (START + timedelta(milliseconds=r["ms"])).isoformat(),
            }
        )
        for r in rows
    ]


def cuts(random_: random.Random, rows: list[dict]) -> list[list[dict]]:
    batches, left = [], list(rows)
    while left:
        size = random_.choice([1, 8, 15, 25])
        batches.append(left[:size])
        left = left[size:]
    return batches


def iso(ms: int) -> str:
    return json_value(START + timedelta(milliseconds=ms))


def windows(ms: int, slide: int, size: int) -> list[tuple[int, int]]:
    newest = ms - ms % slide
    return [(s, s + size) for s in range(newest, newest - size, -slide) if s <= ms < s + size]


def groups(rows: list[dict], edges) -> dict:
    found = defaultdict(list)
    for row in rows:
        for start, end in edges(row["ms"]):
            found[(row["k"], start, end)].append(row)
    return found


def twin_hop(rows):
    result = []
    for (k, start, end), members in groups(rows, lambda ms: windows(ms, 4000, 10000)).items():
        xs = [r["x"] for r in members if r["x"] is not None]
        best = max((r for r in members if r["x"] is not None), key=lambda r: r["x"] * 1000 + r["id"], default=None)
        result.append({
            "k": k, "window_start": iso(start), "window_end": iso(end), "n": len(members),
            "total": sum(xs) if xs else None, "low": min(xs, default=None), "high": max(xs, default=None),
            "mean": sum(xs) / len(xs) if xs else None, "best": best["id"] if best else None,
            "big": sum(x > 5 for x in xs), "seen": sorted(set(xs)),
        })  # fmt: skip
    return result


def twin_expanded(rows):
    return [
        {
            "k": k,
            "window_start": iso(s),
            "window_end": iso(e),
            "kinds": len({r["x"] for r in m if r["x"] is not None}),
        }
        for (k, s, e), m in groups(rows, lambda ms: windows(ms, 4000, 10000)).items()
    ]


def twin_cumulate(rows):
    def edges(ms):
        start = ms - ms % 12000
        return [(start, end) for end in range(start + 3000, start + 12001, 3000) if ms < end]

    result = []
    for (k, s, e), m in groups(rows, edges).items():
        xs = [r["x"] for r in m if r["x"] is not None]
        result.append({"k": k, "window_start": iso(s), "window_end": iso(e), "total": sum(xs) if xs else None})
    return result


def twin_session(rows):
    result = []
    for k in "abc":
        times = sorted(r["ms"] for r in rows if r["k"] == k)
        current = []
        for ms in [*times, None]:
            if current and (ms is None or ms > current[-1] + 2000):
                result.append(
                    {
                        "k": k,
                        "window_start": iso(current[0]),
                        "window_end": iso(current[-1] + 2000),
                        "n": len(current),
                    }
                )
                current = []
            current.append(ms)
    return result


def pairs(left, right):
    return [(a, b) for a, b in product(left, right) if a["k"] == b["k"] and a["ms"] - 2000 <= b["ms"] <= a["ms"] + 3000]


def twin_inner(left, right):
    return [{"a": a["id"], "b": b["id"]} for a, b in pairs(left, right)]


def twin_full(left, right):
    matched = pairs(left, right)
    lefts, rights = {a["id"] for a, _ in matched}, {b["id"] for _, b in matched}
    alone = [{"a": a["id"], "b": None} for a in left if a["id"] not in lefts]
    return twin_inner(left, right) + alone + [{"a": None, "b": b["id"]} for b in right if b["id"] not in rights]


def twin_keyed(rows):
    result = []
    for k in "abc":
        members = [r for r in rows if r["k"] == k]
        xs = [r["x"] for r in members if r["x"] is not None]
        if members and len(members) % 3 != 0:
            result.append({"k": k, "n": len(members), "total": sum(xs) if xs else None})
    return result


def twin_top(rows):
    counted = groups(rows, lambda ms: windows(ms, 10000, 10000))
    result = []
    for end in {end for _, _, end in counted}:
        ranked = sorted((-len(m), k) for (k, _, e), m in counted.items() if e == end)
        result += [{"window_end": iso(end), "k": k, "n": -n} for n, k in ranked[:2]]
    return result


def normal(rows) -> list[str]:
    plain = []
    for row in rows:
        values = {key: json_value(value) for key, value in row.items()}
        values = {key: sorted(value) if isinstance(value, list) else value for key, value in values.items()}
        values = {key: round(value, 9) if isinstance(value, float) else value for key, value in values.items()}
        plain.append(json.dumps(values, sort_keys=True))
    return sorted(plain)


@pytest.mark.parametrize("seed", [1])
def test_operators_agree_with_their_twins_however_rows_are_cut(seed, engine):
    random_ = random.Random(seed)
    left, right = rows_of(random_, 45), rows_of(random_, 40)
    driver = engine.open(Source("twins.sql", APPLICATION), directory=Path.cwd(), relations=VIEWS, clock_at=START)
    try:
        first, second = cuts(random_, left), cuts(random_, right)
        for number in range(max(len(first), len(second))):
            batch = []
            if number < len(first):
                batch.append(("s", lines(first[number])))
            if number < len(second):
                batch.append(("r", lines(second[number])))
            driver.ingest(batch)
            chance = random_.random()
            if chance < 0.3:
                driver.crash()
            elif chance < 0.5:
                driver.stop_and_resume()
        driver.drain()
        found = {name: normal(driver.rows(name)) for name in VIEWS}
    finally:
        driver.close()
    wanted = {
        "hop": twin_hop(left), "expanded": twin_expanded(left), "cumulate": twin_cumulate(left),
        "session": twin_session(left), "inner_": twin_inner(left, right), "full_": twin_full(left, right),
        "keyed": twin_keyed(left), "top": twin_top(left),
    }  # fmt: skip
    for name in VIEWS:
        assert found[name] == normal(wanted[name]), name
