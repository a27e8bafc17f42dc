-- Page views arrive as JSON lines in new files of a folder.

CREATE STREAM page_views (
  at TIMESTAMP,
  user_id STRING NOT NULL,
  page STRING NOT NULL,
  WATERMARK FOR at AS at - INTERVAL 10 SECONDS
) WITH (connector = 'files', path = '${DATA:-data}');

-- How often each page was seen in each minute.
CREATE VIEW per_page AS
  SELECT window_start, window_end, page, count(*) AS views, count(DISTINCT user_id) AS users
  FROM TUMBLE(page_views, at, INTERVAL 1 MINUTE)
  GROUP BY page, window_start, window_end;

-- The three pages seen most often in each minute; ties go by name, so that the answer never depends on luck.
CREATE VIEW top_pages AS
  SELECT window_end, row_number() OVER (PARTITION BY window_end ORDER BY views DESC, page) AS place, page, views
  FROM per_page
  QUALIFY place <= 3;

-- The visits of each user: views with less than 2 minutes between them belong together.
CREATE VIEW visits AS
  SELECT user_id, window_start AS began_at, window_end - INTERVAL 2 MINUTES AS last_at,
         count(*) AS views, min_by(page, at) AS first_page
  FROM SESSION(page_views, at, INTERVAL 2 MINUTES)
  GROUP BY user_id, window_start, window_end;

CREATE SINK top_three WITH (connector = 'console')
  AS SELECT window_end, place, page, views FROM top_pages;

CREATE SINK ended_visits WITH (connector = 'console')
  AS SELECT user_id, began_at, last_at, views, first_page FROM visits;
