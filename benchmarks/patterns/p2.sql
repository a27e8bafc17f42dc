-- Three or more purchases of an account, each above the one before, then one below half of the last, within ten minutes.
CREATE STREAM cards (
  transaction_id STRING, account_id STRING, ts TIMESTAMP, amount DOUBLE, country STRING, kind STRING,
  WATERMARK FOR ts AS ts - INTERVAL ${DELAY} MILLISECONDS
) WITH (connector = 'files', path = '${CARDS}', format = 'json');

SELECT * FROM (SELECT * FROM cards WHERE kind = 'purchase') MATCH_RECOGNIZE (
  PARTITION BY account_id ORDER BY ts
  MEASURES a.transaction_id AS first_id, last(u.transaction_id) AS last_id, d.transaction_id AS drop_id,
    count(u.amount) + 1 AS rises
  PATTERN (a u{2,} d) WITHIN INTERVAL 10 MINUTES
  DEFINE u AS u.amount > prev(u.amount), d AS d.amount < last(u.amount) / 2);
