"""What one application writes into topics is read by another under the names of its sinks."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from headrace import Application
from headrace.jobs.model import Version
from headrace.jobs.offers import Offers
from support.topics import new_topic, send

pytestmark = pytest.mark.spark

READER = """
SET shuffle_partitions = 1;
CREATE MATERIALIZED VIEW copied AS SELECT card, name, half, at FROM fraud.alerts;
CREATE MATERIALIZED VIEW most AS SELECT count(*) AS cards, max(most) AS most FROM fraud.latest;
CREATE MATERIALIZED VIEW minutes AS SELECT window_end, count(*) AS n
  FROM TUMBLE(fraud.alerts, at, INTERVAL 1 MINUTE) GROUP BY window_end;
"""


def test_sinks_are_read_by_name(application, servers, tmp_path: Path):
    cards, alerts, latest = (new_topic(servers, name) for name in ("cards", "alerts", "latest"))
    rows = [
        {"card": card, "amount": amount, "at": f"2024-01-01T10:0{minute}:00Z"}
        for card, amount, minute in ((1, 5, 0), (2, 7, 0), (1, 9, 1), (2, 1, 5))
    ]
    send(servers, cards, rows)
    first = application(f"""
        SET shuffle_partitions = 1;
        CREATE STREAM cards (card BIGINT, amount INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 2 SECONDS)
          WITH (KAFKA, topic = '{cards}');
        CREATE SINK alerts WITH (KAFKA, topic = '{alerts}', guarantee = 'exactly-once', partitions = 1)
          AS SELECT card, concat('card ', card) AS name, amount / 2.0 AS half, at FROM cards;
        CREATE SINK latest WITH (KAFKA, topic = '{latest}', format = 'upsert')
          AS SELECT card, max(amount) AS most FROM cards GROUP BY card;
    """)
    first.start().process_available()
    assert first.file is not None
    version = Version("1", 1, first.file.read_text(), str(tmp_path), None, str(tmp_path), datetime.now(UTC), None)
    offers = Offers("fraud", version, first.plan, first.types())
    first.stop()

    imports = [offers.of("alerts"), offers.of("latest")]
    second = Application(directory=tmp_path, state=str(tmp_path / "second"), name="second", durable=True)
    second.reading(imports).sql(READER).start()
    try:
        second.process_available()
        copied = sorted(second.rows("copied"), key=lambda row: row["at"])
        assert [(row["card"], row["name"], row["half"]) for row in copied][-1] == (2, "card 2", Decimal("0.5"))
        assert len(copied) == 4 and copied[-1]["at"] == datetime(2024, 1, 1, 10, 5, tzinfo=UTC)
        assert second.rows("most") == [{"cards": 2, "most": 9}]
        assert sorted((row["window_end"].minute, row["n"]) for row in second.rows("minutes")) == [(1, 2), (2, 1)]
    finally:
        second.stop()
