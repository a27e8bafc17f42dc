CREATE STREAM orders (
  at TIMESTAMP, country STRING, amount DECIMAL(8, 2),
  WATERMARK FOR at AS at - INTERVAL 5 SECONDS
) WITH (connector = 'files', path = 'orders.json');

SELECT window_start, country, count(*) AS orders, sum(amount) AS total
FROM TUMBLE(orders, at, INTERVAL 1 MINUTE)
GROUP BY country, window_start;
