-- A login from another country than the account's event before, and no confirmation within two minutes.
CREATE STREAM cards (
  transaction_id STRING, account_id STRING, ts TIMESTAMP, amount DOUBLE, country STRING, kind STRING,
  WATERMARK FOR ts AS ts - INTERVAL ${DELAY} MILLISECONDS
) WITH (connector = 'files', path = '${CARDS}', format = 'json');

SELECT account_id, login_id, country FROM cards MATCH_RECOGNIZE (
  PARTITION BY account_id ORDER BY ts
  MEASURES login.transaction_id AS login_id, login.country AS country, timed_out() AS timed_out
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (login other*? confirm) WITHIN INTERVAL 2 MINUTES ON TIMEOUT EMIT
  DEFINE login AS login.kind = 'login' AND login.country <> prev(login.country),
    confirm AS confirm.kind = 'confirm', other AS other.kind <> 'confirm')
WHERE timed_out;
