CREATE STREAM orders (at TIMESTAMP, country STRING, amount DOUBLE)
  WITH (connector = 'files', path = 'orders.json');

SELECT window_start, country, sum(amount) AS total
FROM TUMBLE(orders, at, INTERVAL 1 MINUTE)
GROUP BY country, window_start;
