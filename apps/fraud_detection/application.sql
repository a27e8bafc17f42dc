-- Card transactions arrive in a Kafka topic as JSON, up to 30 seconds out of order; the key of a message is the account.

CREATE STREAM transactions (
  transaction_id STRING NOT NULL,
  timestamp TIMESTAMP,
  account_id STRING NOT NULL,
  transaction_type STRING NOT NULL,
  amount DECIMAL(12, 2) NOT NULL,
  currency STRING NOT NULL,
  merchant STRUCT<name: STRING, category: STRING, location: STRUCT<latitude: DOUBLE, longitude: DOUBLE>>,
  WATERMARK FOR timestamp AS timestamp - INTERVAL 30 SECONDS
) WITH (connector = 'kafka', topic = '${TRANSACTIONS:-transactions}');

-- Where the holder of each account lives. It is looked up, so that an alert stands once it is given.
CREATE TABLE accounts (account_id STRING, latitude DOUBLE, longitude DOUBLE, PRIMARY KEY (account_id))
  WITH (connector = 'files', path = '${ACCOUNTS:-accounts}', refresh = '10 minutes');

CREATE VIEW purchases AS
  SELECT transaction_id, timestamp AS at, account_id, amount, currency,
         merchant.location.latitude AS latitude, merchant.location.longitude AS longitude
  FROM transactions
  WHERE transaction_type = 'purchase';

-- A thief tries a card with next to nothing before the large purchase: one below 1, the next above 500, within a minute.
CREATE VIEW small_then_large AS
  SELECT * FROM purchases MATCH_RECOGNIZE (
    PARTITION BY account_id ORDER BY at, transaction_id
    MEASURES large.transaction_id AS transaction_id, large.at AS at, large.amount AS amount, large.currency AS currency,
      large.latitude AS latitude, large.longitude AS longitude, EVIDENCE(transaction_id) AS evidence,
      small.amount AS small_amount, (unix_micros(large.at) - unix_micros(small.at)) / 1e6 AS seconds
    PATTERN (small large) WITHIN INTERVAL 1 MINUTE
    DEFINE small AS small.amount < 1, large AS large.amount > 500);

-- Each purchase and the next one of the account. No two places are more than 20,016 km apart, so what lies 21 hours or more
-- apart is possible at 1,000 km/h: the bound loses nothing, and the last purchase of a silent account is forgotten.
CREATE VIEW journeys AS
  SELECT account_id, transaction_id, at, amount, currency, to_latitude AS latitude, to_longitude AS longitude, evidence,
         (unix_micros(at) - unix_micros(left_at)) / 3.6e9 AS hours,
         2 * 6371 * asin(sqrt(least(1.0,
           pow(sin(radians(to_latitude - from_latitude) / 2), 2)
           + cos(radians(from_latitude)) * cos(radians(to_latitude))
             * pow(sin(radians(to_longitude - from_longitude) / 2), 2)))) AS kilometres
  FROM (SELECT * FROM purchases WHERE latitude IS NOT NULL AND longitude IS NOT NULL) MATCH_RECOGNIZE (
    PARTITION BY account_id ORDER BY at, transaction_id
    MEASURES here.at AS left_at, there.at AS at, there.transaction_id AS transaction_id,
      there.amount AS amount, there.currency AS currency,
      here.latitude AS from_latitude, here.longitude AS from_longitude,
      there.latitude AS to_latitude, there.longitude AS to_longitude,
      EVIDENCE(transaction_id) AS evidence
    AFTER MATCH SKIP TO LAST there
    PATTERN (here there) WITHIN INTERVAL 21 HOURS
  );

CREATE VIEW impossible_travel AS
  SELECT * FROM journeys WHERE kilometres > 1000 * hours;

-- How far from home each purchase was made. The pattern is one row; what it adds is the evidence.
CREATE VIEW distances_from_home AS
  SELECT p.account_id, p.transaction_id, p.at, p.amount, p.currency, p.latitude, p.longitude, p.evidence,
         2 * 6371 * asin(sqrt(least(1.0,
           pow(sin(radians(p.latitude - a.latitude) / 2), 2)
           + cos(radians(a.latitude)) * cos(radians(p.latitude))
             * pow(sin(radians(p.longitude - a.longitude) / 2), 2)))) AS kilometres
  FROM purchases MATCH_RECOGNIZE (
    PARTITION BY account_id ORDER BY at, transaction_id
    MEASURES purchase.transaction_id AS transaction_id, purchase.at AS at, purchase.amount AS amount, purchase.currency AS currency,
      purchase.latitude AS latitude, purchase.longitude AS longitude, EVIDENCE(transaction_id) AS evidence
    PATTERN (purchase)
  ) p JOIN accounts a ON a.account_id = p.account_id;

CREATE VIEW use_abroad AS
  SELECT * FROM distances_from_home WHERE kilometres > 500;

-- More than 5 times the mean of the account's 5 purchases before it in the same currency, if it made as many in 30 days.
CREATE VIEW unusual_amount AS
  SELECT * FROM purchases MATCH_RECOGNIZE (
    PARTITION BY account_id, currency ORDER BY at, transaction_id
    MEASURES large.transaction_id AS transaction_id, large.at AS at, large.amount AS amount,
      large.latitude AS latitude, large.longitude AS longitude, EVIDENCE(transaction_id) AS evidence, avg(earlier.amount) AS mean
    AFTER MATCH SKIP TO NEXT ROW
    PATTERN (earlier{5} large) WITHIN INTERVAL 30 DAYS
    DEFINE large AS large.amount > 5 * avg(earlier.amount));

-- The four in one form, each with its reason in a sentence.
CREATE VIEW found AS
  SELECT 'small_then_large' AS rule, 'Small then large amount' AS reason, 'Card blocked' AS action,
         concat(small_amount, ', then ', amount, ' ', currency, ' in ', CAST(ceil(seconds) AS INT), ' seconds') AS why,
         at, transaction_id, account_id, amount, currency, latitude, longitude, evidence FROM small_then_large
  UNION ALL
  SELECT 'impossible_travel', 'Impossible travel', 'Card blocked',
         concat(CAST(round(kilometres) AS INT), ' km in ', CAST(round(60 * hours) AS INT), ' minutes'),
         at, transaction_id, account_id, amount, currency, latitude, longitude, evidence FROM impossible_travel
  UNION ALL
  SELECT 'use_abroad', 'Use abroad', 'Flagged for review',
         concat(CAST(ceil(kilometres) AS INT), ' km from home'),
         at, transaction_id, account_id, amount, currency, latitude, longitude, evidence FROM use_abroad
  UNION ALL
  SELECT 'unusual_amount', 'Unusual high amount', 'Flagged for review',
         concat(amount, ' ', currency, ', usually ', CAST(mean AS DECIMAL(12, 2))),
         at, transaction_id, account_id, amount, currency, latitude, longitude, evidence FROM unusual_amount;

-- A rule judges a transaction once, so the two name the alert: the same input gives the same alerts, in any run.
CREATE MATERIALIZED VIEW alerts WITH (key = 'alert_id', index = 'timestamp') AS
  SELECT concat('alert-', left(sha2(concat(rule, ' ', transaction_id), 256), 16)) AS alert_id, at AS timestamp,
         transaction_id, account_id, reason, action, why, amount, currency, latitude, longitude, evidence
  FROM found;

-- How busy the shops are, by 5 minutes.
CREATE MATERIALIZED VIEW traffic AS
  SELECT window_start, count(*) AS purchases, sum(amount) AS spent
  FROM TUMBLE(purchases, at, INTERVAL 5 MINUTES)
  GROUP BY window_start;
