-- A purchase below 1, the next one of the account above 500, within a minute.
CREATE STREAM cards (
  transaction_id STRING, account_id STRING, ts TIMESTAMP, amount DOUBLE, country STRING, kind STRING,
  WATERMARK FOR ts AS ts - INTERVAL ${DELAY} MILLISECONDS
) WITH (connector = 'files', path = '${CARDS}', format = 'json');

SELECT * FROM (SELECT * FROM cards WHERE kind = 'purchase') MATCH_RECOGNIZE (
  PARTITION BY account_id ORDER BY ts
  MEASURES s.transaction_id AS small_id, l.transaction_id AS large_id
  PATTERN (s l) WITHIN INTERVAL 60 SECONDS
  DEFINE s AS s.amount < 1, l AS l.amount > 500);
