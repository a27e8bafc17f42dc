-- Average selling price by seller: over the last closed auctions of each, one row per auction.

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

CREATE VIEW auction AS
  SELECT auction.id, auction.itemName, auction.description, auction.initialBid, auction.reserve, dateTime,
         auction.expires, auction.seller, auction.category, auction.extra
  FROM events WHERE event_type = 1;

CREATE VIEW bid AS
  SELECT bid.auction, bid.bidder, bid.price, bid.channel, bid.url, dateTime, bid.extra
  FROM events WHERE event_type = 2;

-- The winning bid of each auction: the highest, then the earliest; which of two equal ones it is changes no column.
CREATE VIEW winning AS
  SELECT a.id, a.seller, b.price, b.dateTime
  FROM auction a JOIN bid b ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires
  QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) <= 1;

-- The frame is the standard's: the auction and the ten before it. Ties in time go by auction.
SELECT seller,
       avg(price) OVER (PARTITION BY seller ORDER BY dateTime, id ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)
         AS avg_price
FROM winning;
