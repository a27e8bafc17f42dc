-- Bids arrive in a Kafka topic as JSON; the key of a message is the auction, so bids of one auction stay in order.

CREATE STREAM bids (
  auction INT NOT NULL,
  bidder STRING NOT NULL,
  price INT NOT NULL,
  placed_at TIMESTAMP,
  WATERMARK FOR placed_at AS placed_at - INTERVAL 2 SECONDS
) WITH (connector = 'kafka', topic = '${BIDS:-bids}');

-- What is sold is in a compacted topic: the last message of each key is the row.
CREATE TABLE auctions (id INT, item STRING, category STRING, seller STRING, PRIMARY KEY (id))
  WITH (connector = 'kafka', topic = '${AUCTIONS:-auctions}', format = 'upsert');

CREATE VIEW named_bids AS
  SELECT b.auction, a.item, a.category, b.bidder, b.price, b.placed_at
  FROM bids b JOIN auctions a ON a.id = b.auction;

-- Since the start: one row per auction, replaced as bids come.
CREATE VIEW best_bids AS
  SELECT auction, item, category, max(price) AS price, max_by(bidder, price) AS bidder, count(*) AS bids
  FROM named_bids
  GROUP BY auction, item, category;

-- The last 10 seconds, every 2 seconds: one final row for each auction with at least 20 bids.
CREATE VIEW hot AS
  SELECT window_end, auction, item, count(*) AS bids, max(price) AS price
  FROM HOP(named_bids, placed_at, INTERVAL 2 SECONDS, INTERVAL 10 SECONDS)
  GROUP BY auction, item, window_start, window_end
  HAVING count(*) >= 20;

CREATE SINK leaders WITH (connector = 'console')
  AS SELECT auction, item, category, price, bidder, bids FROM best_bids;

CREATE SINK hot_auctions WITH (connector = 'console')
  AS SELECT window_end, auction, item, bids, price FROM hot;

-- Other programs get the same rows from a topic, each exactly once, whatever crashes.
CREATE SINK hot_topic WITH (connector = 'kafka', topic = '${HOT:-hot}', key = 'auction', guarantee = 'exactly-once')
  AS SELECT window_end, auction, item, bids, price FROM hot;
