-- Tweets and follows are tables: the last line of a key is its row, and a line with "_change": "delete" removes it.

CREATE TABLE tweets (
  id BIGINT,
  author STRING,
  text STRING,
  written_at TIMESTAMP,
  PRIMARY KEY (id)
) WITH (connector = 'files', path = '${DATA:-data}/tweets');

CREATE TABLE follows (follower STRING, followee STRING, PRIMARY KEY (follower, followee))
  WITH (connector = 'files', path = '${DATA:-data}/follows');

-- A tweet reaches everybody who follows its author, whichever came first.
CREATE VIEW received AS
  SELECT f.follower AS reader, t.id, t.author, t.text, t.written_at
  FROM follows f JOIN tweets t ON t.author = f.followee;

-- The 20 newest tweets that each user gets; of tweets of one instant the one with the higher number is newer.
CREATE MATERIALIZED VIEW timeline WITH (key = 'reader, id') AS
  SELECT reader, id, author, text, written_at
  FROM received
  QUALIFY row_number() OVER (PARTITION BY reader ORDER BY written_at DESC, id DESC) <= 20;

-- How many tweets each user gets, those that are older included, and from how many authors.
CREATE MATERIALIZED VIEW readers WITH (key = 'reader') AS
  SELECT reader, count(*) AS tweets, count(DISTINCT author) AS authors, max(written_at) AS newest_at
  FROM received
  GROUP BY reader;

CREATE SINK timeline_of_ann WITH (connector = 'console')
  AS SELECT written_at, author, text FROM timeline WHERE reader = 'ann';
