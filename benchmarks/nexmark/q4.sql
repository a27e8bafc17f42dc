-- Average price for a category: the mean of the winning prices of its auctions.

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

-- The highest valid bid of each auction; it changes as bids come.
CREATE VIEW winning AS
  SELECT a.id, a.category, max(b.price) AS price
  FROM auction a JOIN bid b ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.id, a.category;

SELECT category AS id, avg(price) AS final FROM winning GROUP BY category;
