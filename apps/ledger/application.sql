-- Commands ask for something; they may be refused. commands.py decides them (headrace handle).
CREATE STREAM commands (
  command_id STRING NOT NULL,
  account STRING NOT NULL,
  kind STRING NOT NULL,            -- open, deposit, withdraw, transfer
  owner STRING,                    -- open
  currency STRING,                 -- open
  amount DECIMAL(18, 2),           -- deposit, withdraw, transfer
  target STRING,                   -- transfer: the account that receives
  at TIMESTAMP
) WITH (connector = 'kafka', topic = '${LEDGER_COMMANDS:-ledger-commands}');

-- Events have happened. Each has a key of its own, so compacting the topic loses none; the amount is what the balance
-- moves by. All are in one partition: the two sides of a transfer are seen together.
CREATE TABLE events (
  account STRING, number INT, command_id STRING, kind STRING, owner STRING, currency STRING,
  amount DECIMAL(18, 2), at TIMESTAMP,
  PRIMARY KEY (account, number)
) WITH (connector = 'kafka', topic = '${LEDGER_EVENTS:-ledger-events}', format = 'upsert');

-- Commands that were refused, and why.
CREATE TABLE rejections (
  account STRING, command_id STRING, kind STRING, amount DECIMAL(18, 2), reason STRING, at TIMESTAMP,
  PRIMARY KEY (account, command_id)
) WITH (connector = 'kafka', topic = '${LEDGER_REJECTIONS:-ledger-rejections}', format = 'upsert');

-- What commands are decided against: a row for each account, and the number of the last event in it.
CREATE MATERIALIZED VIEW balances WITH (key = 'account') AS
  SELECT account, max(owner) AS owner, max(currency) AS currency, sum(amount) AS balance, max(number) AS number
  FROM events
  GROUP BY account;

CREATE MATERIALIZED VIEW statement WITH (key = 'account, number') AS
  SELECT account, number, at, kind, amount, sum(amount) OVER (PARTITION BY account ORDER BY number) AS balance
  FROM events;

-- A transfer never changes it: both of its events are in one batch.
CREATE MATERIALIZED VIEW totals WITH (key = 'currency') AS
  SELECT currency, count(*) AS accounts, sum(balance) AS total
  FROM balances
  GROUP BY currency;

CREATE MATERIALIZED VIEW refusals WITH (key = 'account, reason') AS
  SELECT account, reason, count(*) AS commands
  FROM rejections
  GROUP BY account, reason;

CREATE SINK shown_balances WITH (connector = 'console') AS SELECT account, owner, currency, balance FROM balances;
CREATE SINK shown_totals WITH (connector = 'console') AS SELECT currency, accounts, total FROM totals;
