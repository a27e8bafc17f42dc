-- New users: who has registered and opened an auction within the same 10 seconds?

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

CREATE VIEW person AS
  SELECT person.id, person.name, person.emailAddress, person.creditCard, person.city, person.state, dateTime,
         person.extra
  FROM events WHERE event_type = 0;

CREATE VIEW auction AS
  SELECT auction.id, auction.itemName, auction.description, auction.initialBid, auction.reserve, dateTime,
         auction.expires, auction.seller, auction.category, auction.extra
  FROM events WHERE event_type = 1;

CREATE VIEW registered AS
  SELECT id, name, window_start, window_end
  FROM TUMBLE(person, dateTime, INTERVAL 10 SECONDS)
  GROUP BY id, name, window_start, window_end;

CREATE VIEW selling AS
  SELECT seller, window_start, window_end
  FROM TUMBLE(auction, dateTime, INTERVAL 10 SECONDS)
  GROUP BY seller, window_start, window_end;

SELECT r.id, r.name, r.window_start AS starttime
FROM registered r JOIN selling s
  ON r.id = s.seller AND r.window_start = s.window_start AND r.window_end = s.window_end;
