-- Bidding statistics of each day: bids, bidders and auctions by rank of price.

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

SELECT date_format(dateTime, 'yyyy-MM-dd') AS day,
       count(*) AS total_bids,
       count(*) FILTER (WHERE price < 10000) AS rank1_bids,
       count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
       count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
       count(DISTINCT bidder) AS total_bidders,
       count(DISTINCT bidder) FILTER (WHERE price < 10000) AS rank1_bidders,
       count(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bidders,
       count(DISTINCT bidder) FILTER (WHERE price >= 1000000) AS rank3_bidders,
       count(DISTINCT auction) AS total_auctions,
       count(DISTINCT auction) FILTER (WHERE price < 10000) AS rank1_auctions,
       count(DISTINCT auction) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_auctions,
       count(DISTINCT auction) FILTER (WHERE price >= 1000000) AS rank3_auctions
FROM bid
GROUP BY date_format(dateTime, 'yyyy-MM-dd');
