"""Deterministic card transactions and security events for the pattern benchmark (numpy).

    generate.py --out DIR --events 500000

    DIR/cards.jsonl      {"transaction_id","account_id","ts","amount","country","kind"}
    DIR/security.jsonl   {"ts","src","dst","event_name","event_group"}
    DIR/meta.json        the options and the counts

Each file has --events lines, in order of arrival: by time, except that a line may come after
lines up to --out-of-order-ms younger than itself. Times are unique where a pattern looks: within
an account, within a dst of generalbruteforce, within a src of httpscan. So no answer depends on
how ties are broken, and an ordered and a shuffled file of one seed have the same answers.
--planted is the share of the lines that belong to planted sequences; some of these miss their
pattern on purpose, often by one millisecond.
"""

import argparse
import json
import os

import numpy as np

START = np.datetime64("2024-01-01T00:00:00.000", "ms")
COUNTRIES = np.array(["US", "GB", "DE", "FR", "ES", "BR", "IN", "JP"])
GROUPS = np.array(["firewall", "web", "auth", "p2p", "httpscan", "generalbruteforce"])
SHARES = [0.55, 0.20, 0.14, 0.01, 0.05, 0.05]
SCAN, BRUTE = 4, 5  # their places in GROUPS
NAMES, SCAN_NAMES = 30, 12  # event names of a group, of one scan
SECOND = 1000


def zipf(rng, n, size, exponent):
    """Ranks below n, rank k with a probability in proportion to 1 / (k + 1) ** exponent."""
    cdf = np.cumsum(1 / np.arange(1, n + 1) ** exponent)
    return np.searchsorted(cdf, rng.random(size) * cdf[-1], side="right")


def near(rng, values, limit, share=0.1):
    """Return the values, a share of them replaced by the limit or the limit less 1: both sides of `<`."""
    return np.where(rng.random(len(values)) < share, limit - rng.integers(0, 2, len(values)), values)


def unique(keys, ts):
    """Return the times, moved forward by as little as makes them different within a key."""
    order = np.lexsort((ts, keys))
    k, t, place = keys[order], ts[order], np.arange(len(ts))
    first = np.r_[True, k[1:] != k[:-1]]
    rank = place - np.maximum.accumulate(np.where(first, place, 0))
    lift = np.cumsum(first) * (t.max() + len(t))  # keeps the running maximum within the key
    out = np.empty_like(ts)
    out[order] = np.maximum.accumulate(t - rank + lift) - lift + rank
    return out


def small_then_large(rng, n, horizon, account, country):
    """Return planted rows: small then large."""
    start, who = rng.integers(0, horizon, n), rng.integers(0, len(country), n)
    gap = near(rng, rng.integers(1, 90 * SECOND, n), 60 * SECOND)
    for ts, amount in ((start, rng.uniform(0.05, 1.1, n)), (start + gap, rng.uniform(480, 2000, n))):
        yield ts, who, amount, country[who], np.zeros(n, int)


def rising_then_drop(rng, n, horizon, account, country):
    """Return planted rows: rising then drop."""
    for rises in (2, 3, 4, 5, 6):  # 2 is one too few
        m = n // 5
        ts, who = rng.integers(0, horizon, m), rng.integers(0, len(country), m)
        gaps = rng.integers(SECOND, 180 * SECOND, (m, rises))
        others = gaps[:, :-1].sum(axis=1)
        gaps[:, -1] = np.maximum(near(rng, gaps[:, -1] + others, 600 * SECOND) - others, 1)
        amount = account[who]
        yield ts, who, amount, country[who], np.zeros(m, int)
        for i in range(rises):
            factor = rng.uniform(1.1, 2, m) if i < rises - 1 else rng.uniform(0.1, 0.6, m)
            ts, amount = ts + gaps[:, i], amount * factor
            yield ts, who, amount, country[who], np.zeros(m, int)


def login_abroad(rng, n, horizon, account, country):
    """Return planted rows: login abroad."""
    ts, who = rng.integers(0, horizon, n), rng.integers(0, len(country), n)
    where = (country[who] + rng.integers(1, len(COUNTRIES), n)) % len(COUNTRIES)
    yield ts, who, np.zeros(n), where, np.ones(n, int)
    gap = near(rng, rng.integers(1, 180 * SECOND, n), 120 * SECOND)
    some = rng.random(n) < 0.6
    yield (ts + gap)[some], who[some], np.zeros(n)[some], where[some], np.full(n, 2)[some]


def cards(rng, a, horizon):
    """Columns ts, account, amount, country, kind (0 purchase, 1 login, 2 confirm)."""
    typical = np.exp(rng.normal(3, 0.8, a.accounts))
    home = rng.integers(0, len(COUNTRIES), a.accounts)
    each = int(a.events * a.planted / 9.6)  # lines of one sequence of every sort
    parts = [
        p
        for plant in (small_then_large, rising_then_drop, login_abroad)
        for p in plant(rng, each, horizon, typical, home)
    ]
    n = a.events - sum(len(p[0]) for p in parts)
    who = zipf(rng, a.accounts, n, a.skew)
    kind = rng.choice(3, n, p=[0.90, 0.06, 0.04])
    amount = np.where(rng.random(n) < 0.01, np.exp(rng.normal(3, 2.5, n)), typical[who] * np.exp(rng.normal(0, 0.3, n)))
    abroad = rng.random(n) < 0.01
    country = np.where(abroad, rng.integers(0, len(COUNTRIES), n), home[who])
    parts.append((np.arange(n) * horizon // n, who, np.where(kind == 0, amount, 0), country, kind))
    ts, who, amount, country, kind = (np.concatenate(c) for c in zip(*parts, strict=True))
    amount = np.where(kind == 0, np.maximum(amount.round(2), 0.01), 0)
    return unique(who, ts), who, amount, country, kind


def security(rng, a, horizon):
    """Columns ts, src, dst, name, group."""
    parts, left = [], a.events * a.planted
    while left > 0:
        group, enough, most, limit = [(SCAN, 6, 25, 180), (BRUTE, 20, 50, 120)][rng.integers(0, 2)]
        names = rng.choice(NAMES, SCAN_NAMES, replace=False)
        if rng.random() < 0.2:  # just enough, just in time or just too late
            n, name = enough, rng.choice(NAMES, enough, replace=False)
            ts = np.linspace(0, limit * SECOND - rng.integers(0, 2), n).astype(int)
        else:
            n = int(rng.integers(enough - 3, most))
            ts, name = rng.integers(0, rng.integers(60, 300) * SECOND, n), rng.choice(names, n)
        src, dst = (np.full(n, rng.integers(0, a.hosts)) for _ in "sd")
        if group == BRUTE:
            src = rng.integers(0, a.hosts, n)
        parts.append((ts + rng.integers(0, horizon), src, dst, name, np.full(n, group)))
        left -= n
    n = a.events - sum(len(p[0]) for p in parts)
    group = rng.choice(len(GROUPS), n, p=SHARES)
    noise = group < SCAN
    src, dst = (np.where(noise, zipf(rng, a.hosts, n, a.skew), rng.integers(0, a.hosts, n)) for _ in "sd")
    parts.append((np.arange(n) * horizon // n, src, dst, rng.integers(0, NAMES, n), group))
    ts, src, dst, name, group = (np.concatenate(c) for c in zip(*parts, strict=True))
    key = np.where(group == SCAN, src, np.where(group == BRUTE, a.hosts + dst, 2 * a.hosts + np.arange(len(ts))))
    return unique(key, ts), src, dst, name, group


def arrival(rng, ts, out_of_order_ms):
    """Return the places of the lines in the file."""
    return np.argsort(ts + rng.integers(0, max(out_of_order_ms, 1), len(ts)), kind="stable")


def write(path, line, columns):
    """Write a file of lines."""
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(map(line, *(c.tolist() for c in columns)))


def iso(ts):
    """Return times as text."""
    return np.datetime_as_string(START + ts.astype("timedelta64[ms]"), unit="ms")


def host(numbers, network):
    """Return the addresses of hosts."""
    return np.array([f"{network}.{i >> 8}.{i & 255}" for i in range(numbers.max() + 1)])[numbers]


def main():
    """Write the files."""
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    ap.add_argument("--out", required=True, help="directory")
    ap.add_argument("--events", type=int, default=500_000, help="lines in each file")
    ap.add_argument("--accounts", type=int, default=10_000)
    ap.add_argument("--hosts", type=int, default=2_000, help="sources, and destinations")
    ap.add_argument("--skew", type=float, default=1.0, help="exponent of the zipf distribution")
    ap.add_argument("--spacing-us", type=int, default=5_000, help="mean event time between lines")
    ap.add_argument("--out-of-order-ms", type=int, default=0)
    ap.add_argument("--planted", type=float, default=0.01)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    horizon = a.events * a.spacing_us // 1000

    rows = cards(np.random.default_rng([a.seed, 1]), a, horizon)
    rows = [c[np.argsort(rows[0], kind="stable")] for c in rows]
    order = arrival(np.random.default_rng([a.seed, 2]), rows[0], a.out_of_order_ms)
    ts, who, amount, country, kind = (c[order] for c in rows)
    write(
        os.path.join(a.out, "cards.jsonl"),
        '{{"transaction_id":"t{:09d}","account_id":"a{:06d}","ts":"{}Z","amount":{},"country":"{}",'
        '"kind":"{}"}}\n'.format,
        (order, who, iso(ts), amount, COUNTRIES[country], np.array(["purchase", "login", "confirm"])[kind]),
    )

    rows = security(np.random.default_rng([a.seed, 3]), a, horizon)
    rows = [c[np.argsort(rows[0], kind="stable")] for c in rows]
    order = arrival(np.random.default_rng([a.seed, 4]), rows[0], a.out_of_order_ms)
    ts, src, dst, name, group = (c[order] for c in rows)
    write(
        os.path.join(a.out, "security.jsonl"),
        '{{"ts":"{}Z","src":"{}","dst":"{}","event_name":"{}-{}","event_group":"{}"}}\n'.format,
        (iso(ts), host(src, "10.0"), host(dst, "192.168"), GROUPS[group], name, GROUPS[group]),
    )

    meta = {k: v for k, v in vars(a).items() if k != "out"}
    with open(os.path.join(a.out, "meta.json"), "w", encoding="utf-8") as f:
        json.dump(meta, f)
    print(json.dumps(meta))


if __name__ == "__main__":
    main()
