"""What is known of a query before it runs."""

from pathlib import Path

from headrace.jobs.texts import plan_text
from headrace.spark.run import timed_streams

STREAMS = """
CREATE STREAM orders (country STRING, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS)
  WITH (connector = 'memory');
CREATE STREAM visits (country STRING, at TIMESTAMP, WATERMARK FOR at AS at IDLE AFTER INTERVAL 1 MINUTE)
  WITH (connector = 'memory');
CREATE STREAM plain (country STRING, at TIMESTAMP) WITH (connector = 'memory');
CREATE MATERIALIZED VIEW totals AS
  SELECT country, count(*) AS n FROM (SELECT * FROM Orders UNION ALL SELECT * FROM visits UNION ALL SELECT * FROM plain)
  GROUP BY country;
"""


def test_only_streams_with_a_watermark_that_follows_no_clock_hold_it():
    (output,) = plan_text(STREAMS, "totals", Path(), {}).outputs
    assert timed_streams(output.relation.step) == ("orders",)
