"""A folder of Nexmark events and the name of a query go in, the rows that DuckDB computes come out.

    python benchmarks/nexmark/answers.py q5 --data D

prints them as `headrace run benchmarks/nexmark/q5.sql --var DATA=D --once --output json` prints its own. The queries
are written for DuckDB, apart from the applications, and know nothing of streams. That of q12 leaves out the
windows, which depend on the clock: all bids of each bidder.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from headrace.values import json_value, sort_key, to_json_line

Row = dict[str, Any]

EVENTS = """
SELECT * FROM read_json(?, format = 'newline_delimited', columns = {
  event_type: 'INTEGER',
  person: 'STRUCT(id BIGINT, name VARCHAR, emailAddress VARCHAR, creditCard VARCHAR, city VARCHAR, state VARCHAR,
                  dateTime TIMESTAMP, extra VARCHAR)',
  auction: 'STRUCT(id BIGINT, itemName VARCHAR, description VARCHAR, initialBid BIGINT, reserve BIGINT,
                   dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra VARCHAR)',
  bid: 'STRUCT(auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, dateTime TIMESTAMP,
               extra VARCHAR)'})
"""

SIDE_INPUT = "SELECT * FROM read_csv(?, header = false, columns = {key: 'BIGINT', value: 'VARCHAR'})"

# Every valid bid with its auction; the bid's columns that both have begin with bid_.
VALID = """
SELECT a.*, b.auction, b.bidder, b.price, b.dateTime AS bid_dateTime, b.extra AS bid_extra
FROM auction a JOIN bid b ON b.auction = a.id AND b.dateTime >= a.dateTime AND b.dateTime <= a.expires
"""

RANKS = """
count(*) AS total_bids,
count(*) FILTER (price < 10000) AS rank1_bids,
count(*) FILTER (price >= 10000 AND price < 1000000) AS rank2_bids,
count(*) FILTER (price >= 1000000) AS rank3_bids"""

PEOPLE_AND_ITEMS = """
count(DISTINCT bidder) AS total_bidders,
count(DISTINCT bidder) FILTER (price < 10000) AS rank1_bidders,
count(DISTINCT bidder) FILTER (price >= 10000 AND price < 1000000) AS rank2_bidders,
count(DISTINCT bidder) FILTER (price >= 1000000) AS rank3_bidders,
count(DISTINCT auction) AS total_auctions,
count(DISTINCT auction) FILTER (price < 10000) AS rank1_auctions,
count(DISTINCT auction) FILTER (price >= 10000 AND price < 1000000) AS rank2_auctions,
count(DISTINCT auction) FILTER (price >= 1000000) AS rank3_auctions"""

QUERIES = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
        SELECT name, city, state, auction.id
        FROM auction, person
        WHERE seller = person.id AND category = 10 AND state IN ('OR', 'ID', 'CA')
    """,
    "q4": """
        SELECT category AS id, avg(winning) AS final
        FROM (SELECT id, category, max(price) AS winning FROM valid GROUP BY id, category)
        GROUP BY category
    """,
    "q5": """
        WITH counts AS (
          SELECT auction, count(*) AS num, time_bucket(INTERVAL 2 SECONDS, dateTime) - to_seconds(back) AS opened_at
          FROM bid, range(0, 10, 2) AS panes(back)
          GROUP BY ALL)
        SELECT auction, num FROM counts
        QUALIFY rank() OVER (PARTITION BY opened_at ORDER BY num DESC) = 1
    """,
    "q6": """
        WITH winning AS (
          SELECT id, seller, max(price) AS price, min(bid_dateTime) AS sold
          FROM (SELECT *, max(price) OVER (PARTITION BY id) AS highest FROM valid)
          WHERE price = highest
          GROUP BY id, seller)
        SELECT seller, avg(price) OVER (PARTITION BY seller ORDER BY sold, id ROWS 10 PRECEDING) AS avg_price
        FROM winning
    """,
    "q7": """
        WITH highest AS (
          SELECT max(price) AS price, time_bucket(INTERVAL 10 SECONDS, dateTime) AS opened_at FROM bid GROUP BY ALL)
        SELECT auction, bidder, bid.price, dateTime, extra
        FROM bid JOIN highest
          ON bid.price = highest.price AND dateTime BETWEEN opened_at AND opened_at + INTERVAL 10 SECONDS
    """,
    "q8": """
        SELECT id, name, time_bucket(INTERVAL 10 SECONDS, dateTime) AS starttime
        FROM person p
        WHERE EXISTS (
          FROM auction a
          WHERE a.seller = p.id
            AND time_bucket(INTERVAL 10 SECONDS, a.dateTime) = time_bucket(INTERVAL 10 SECONDS, p.dateTime))
    """,
    "q9": """
        SELECT * FROM valid
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY price DESC, bid_dateTime, bidder, bid_extra) = 1
    """,
    "q10": """
        SELECT auction, bidder, price, dateTime, extra, strftime(dateTime, '%Y-%m-%d') AS dt,
               strftime(dateTime, '%H:%M') AS hm
        FROM bid
    """,
    "q11": """
        WITH marked AS (
          SELECT bidder, dateTime, lag(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime) AS earlier FROM bid),
        numbered AS (
          SELECT bidder, dateTime,
                 count(*) FILTER (dateTime - earlier > INTERVAL 10 SECONDS)
                   OVER (PARTITION BY bidder ORDER BY dateTime) AS session
          FROM marked)
        SELECT bidder, count(*) AS bid_count, min(dateTime) AS starttime, max(dateTime) + INTERVAL 10 SECONDS AS endtime
        FROM numbered
        GROUP BY bidder, session
    """,
    "q12": "SELECT bidder, count(*) AS bid_count FROM bid GROUP BY bidder",
    "q13": "SELECT auction, bidder, price, dateTime, value FROM bid JOIN side_input ON auction % 10000 = key",
    "q14": """
        SELECT auction, bidder, 0.908 * price AS price,
               CASE WHEN hour(dateTime) BETWEEN 8 AND 18 THEN 'dayTime'
                    WHEN hour(dateTime) IN (7, 19) THEN 'otherTime'
                    ELSE 'nightTime' END AS bidTimeType,
               dateTime, extra, len(list_filter(string_split(extra, ''), lambda letter: letter = 'c')) AS c_counts
        FROM bid
        WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
    """,
    "q15": f"SELECT strftime(dateTime, '%Y-%m-%d') AS day, {RANKS}, {PEOPLE_AND_ITEMS} FROM bid GROUP BY day",
    "q16": f"""
        SELECT channel, strftime(dateTime, '%Y-%m-%d') AS day, strftime(max(dateTime), '%H:%M') AS minute,
               {RANKS}, {PEOPLE_AND_ITEMS}
        FROM bid
        GROUP BY channel, day
    """,
    "q17": f"""
        SELECT auction, strftime(dateTime, '%Y-%m-%d') AS day, {RANKS}, min(price) AS min_price,
               max(price) AS max_price, avg(price) AS avg_price, CAST(sum(price) AS BIGINT) AS sum_price
        FROM bid
        GROUP BY auction, day
    """,
    "q18": """
        SELECT * FROM bid
        QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, price DESC, extra, channel) = 1
    """,
    "q19": """
        SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, dateTime, bidder, extra) AS rank_number
        FROM bid
        QUALIFY rank_number <= 10
    """,
    "q20": """
        SELECT auction, bidder, price, channel, url, b.dateTime AS bid_dateTime, b.extra AS bid_extra,
               itemName, description, initialBid, reserve, a.dateTime AS auction_dateTime, expires, seller, category,
               a.extra AS auction_extra
        FROM bid b, auction a
        WHERE auction = id AND category = 10
    """,
    "q21": """
        WITH known AS (
          FROM (VALUES ('apple', '0'), ('google', '1'), ('facebook', '2'), ('baidu', '3')) AS pairs(name, number))
        FROM (
          SELECT auction, bidder, price, channel,
                 coalesce(number, nullif(regexp_extract(url, '(&|^)channel_id=([^&]*)', 2), '')) AS channel_id
          FROM bid LEFT JOIN known ON name = lower(channel))
        WHERE channel_id IS NOT NULL
    """,
    "q22": """
        SELECT auction, bidder, price, channel, parts[4] AS dir1, parts[5] AS dir2, parts[6] AS dir3
        FROM (SELECT *, string_split(url, '/') AS parts FROM bid)
    """,
}


def open_events(data: Path) -> duckdb.DuckDBPyConnection:
    """Return a database with the events of a folder."""
    database = duckdb.connect()
    database.execute(f"CREATE TABLE events AS {EVENTS}", [str(data / "json" / "*.jsonl")])
    database.execute(f"CREATE TABLE side_input AS {SIDE_INPUT}", [str(data / "side_input.csv")])
    for number, kind in enumerate(("person", "auction", "bid")):
        database.execute(f"CREATE VIEW {kind} AS SELECT unnest({kind}) FROM events WHERE event_type = {number}")
    database.execute(f"CREATE VIEW valid AS {VALID}")
    return database


def answer(database: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    """Return the rows of a query as the values that JSON has for them."""
    result = database.execute(QUERIES[query])
    names = [column[0] for column in result.description]
    return [
        {name: json_value(_aware(value)) for name, value in zip(names, row, strict=True)} for row in result.fetchall()
    ]


def _aware(value: Any) -> Any:
    """Return a value whose time, if it is one, says that it is in UTC."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def main() -> None:
    """Print the answer of one query."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("query", choices=QUERIES)
    parser.add_argument("--data", type=Path, required=True, help="what generate.py has written")
    options = parser.parse_args()
    for row in sorted(answer(open_events(options.data), options.query), key=sort_key):
        print(to_json_line(row))


if __name__ == "__main__":
    main()
