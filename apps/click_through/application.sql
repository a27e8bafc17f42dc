-- Searches and the clicks on their results arrive apart, as JSON lines in two folders.

CREATE STREAM searches (
  search_id STRING NOT NULL,
  query STRING NOT NULL,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 10 SECONDS
) WITH (connector = 'files', path = '${DATA:-data}/searches');

CREATE STREAM clicks (
  search_id STRING NOT NULL,
  result INT,
  at TIMESTAMP,
  WATERMARK FOR at AS at - INTERVAL 10 SECONDS
) WITH (connector = 'files', path = '${DATA:-data}/clicks');

-- A click belongs to its search if it comes within 5 minutes. The bound also says when a search without a
-- click is known to have none, so that it can be published, and how long both sides are kept.
CREATE VIEW answered AS
  SELECT s.search_id, s.query, s.at AS searched_at, c.result
  FROM searches s LEFT JOIN clicks c
    ON c.search_id = s.search_id
   AND c.at BETWEEN s.at AND s.at + INTERVAL 5 MINUTES;

-- The share of searches with a click, per query and 5 minutes. A search clicked twice counts once.
CREATE VIEW click_through AS
  SELECT window_end, query,
         count(DISTINCT search_id) AS searches,
         count(DISTINCT search_id) FILTER (WHERE result IS NOT NULL) AS clicked,
         round(clicked / searches, 3) AS rate
  FROM TUMBLE(answered, searched_at, INTERVAL 5 MINUTES)
  GROUP BY query, window_start, window_end;

SELECT window_end, query, searches, clicked, rate FROM click_through;
