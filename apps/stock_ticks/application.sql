-- Ticks arrive as JSON lines in new files of a folder: one price of one symbol at one moment.

CREATE STREAM ticks (
  symbol STRING NOT NULL,
  price DOUBLE NOT NULL,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 1 SECOND
) WITH (connector = 'files', path = '${DATA:-data}');

-- Since the start: one row per symbol, replaced as ticks come.
CREATE VIEW extremes AS
  SELECT symbol, min(price) AS low, max(price) AS high, max_by(price, at) AS last, count(*) AS ticks
  FROM ticks
  GROUP BY symbol;

-- The last 10 seconds, every 5 seconds: one final row per symbol and window.
CREATE VIEW rolling AS
  SELECT window_end, symbol, round(avg(price), 2) AS mean, count(*) AS ticks
  FROM HOP(ticks, at, INTERVAL 5 SECONDS, INTERVAL 10 SECONDS)
  GROUP BY symbol, window_start, window_end;

-- A console sink is a SELECT with a name.
CREATE SINK prices WITH (connector = 'console')
  AS SELECT symbol, low, last, high, ticks FROM extremes;

CREATE SINK rolling_mean WITH (connector = 'console')
  AS SELECT window_end, symbol, mean, ticks FROM rolling;
