-- Hot items: the auctions with the most bids in the last 10 seconds, every 2 seconds.

CREATE STREAM events (
  event_type INT,
  person STRUCT<id: BIGINT, name: STRING, emailAddress: STRING, creditCard: STRING, city: STRING, state: STRING,
                dateTime: TIMESTAMP, extra: STRING>,
  auction STRUCT<id: BIGINT, itemName: STRING, description: STRING, initialBid: BIGINT, reserve: BIGINT,
                 dateTime: TIMESTAMP, expires: TIMESTAMP, seller: BIGINT, category: BIGINT, extra: STRING>,
  bid STRUCT<auction: BIGINT, bidder: BIGINT, price: BIGINT, channel: STRING, url: STRING,
             dateTime: TIMESTAMP, extra: STRING>,
  dateTime AS coalesce(bid.dateTime, auction.dateTime, person.dateTime),
  WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS
) WITH (connector = 'files', path = '${DATA}/json', max_files_per_batch = ${FILES:-1000});

CREATE VIEW bid AS
  SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, dateTime, bid.extra
  FROM events WHERE event_type = 2;

CREATE VIEW counts AS
  SELECT auction, count(*) AS num, window_start, window_end
  FROM HOP(bid, dateTime, INTERVAL 2 SECONDS, INTERVAL 10 SECONDS)
  GROUP BY auction, window_start, window_end;

CREATE VIEW most AS
  SELECT max(num) AS num, window_start, window_end FROM counts GROUP BY window_start, window_end;

SELECT c.auction, c.num
FROM counts c JOIN most m
  ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.num >= m.num;
