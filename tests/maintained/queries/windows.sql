-- name: row_number
SELECT k, g, row_number() OVER (PARTITION BY g ORDER BY k) AS r FROM a

-- name: row_number_desc
SELECT k, row_number() OVER (PARTITION BY g ORDER BY n DESC, k) AS r FROM a

-- name: ranks
-- refused: a named WINDOW is not supported yet
SELECT k, rank() OVER w AS r, dense_rank() OVER w AS d FROM a WINDOW w AS (PARTITION BY g ORDER BY n)

-- name: ranks_double
SELECT k, rank() OVER (ORDER BY x) AS r FROM a

-- name: ranks_wild
SELECT k, dense_rank() OVER (ORDER BY y DESC) AS r FROM b

-- name: shares
SELECT k, percent_rank() OVER (PARTITION BY g ORDER BY n) AS p, cume_dist() OVER (PARTITION BY g ORDER BY n) AS q
  FROM a

-- name: ntile
SELECT k, ntile(3) OVER (ORDER BY k DESC) AS t FROM a

-- name: lag_lead
SELECT k, lag(n) OVER (PARTITION BY g ORDER BY k) AS before, lead(n, 1, -5) OVER (PARTITION BY g ORDER BY k) AS
  after FROM a

-- name: lag_two
SELECT k, lag(n, 2, k) OVER (ORDER BY k) AS before FROM a

-- name: total
SELECT k, n, sum(n) OVER (PARTITION BY g) AS total, count(*) OVER () AS every FROM a

-- name: running
SELECT k, sum(n) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM a

-- name: running_peers
SELECT k, sum(k) OVER (PARTITION BY g ORDER BY n) AS s, count(n) OVER (PARTITION BY g ORDER BY n) AS c FROM a

-- name: rows_frame
SELECT k, sum(n) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM a

-- name: rows_behind
SELECT k, max(n) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS hi FROM a

-- name: rows_ahead
SELECT k, min(n) OVER (ORDER BY k DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS lo FROM a

-- name: mean_frame
SELECT k, avg(x) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS mean FROM a

-- name: first_last
SELECT k, first_value(n) OVER (PARTITION BY g ORDER BY k) AS first, last_value(n) OVER (PARTITION BY g ORDER BY k
  ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last FROM a

-- name: partition_double
SELECT k, count(*) OVER (PARTITION BY x) AS c FROM a

-- name: qualify
SELECT k, g, n FROM a QUALIFY row_number() OVER (PARTITION BY g ORDER BY n DESC, k) = 1

-- name: qualify_two
SELECT k, g FROM a QUALIFY row_number() OVER (PARTITION BY g ORDER BY k) <= 2

-- name: qualify_rank
SELECT k, g FROM a QUALIFY rank() OVER (PARTITION BY g ORDER BY n) <= 2

-- name: qualify_dense
SELECT k, g FROM a QUALIFY dense_rank() OVER (PARTITION BY g ORDER BY n DESC) <= 2

-- name: qualify_stream
SELECT k, g, n FROM e QUALIFY rank() OVER (PARTITION BY g ORDER BY n DESC, k) <= 2

-- name: qualify_between
SELECT k FROM a QUALIFY row_number() OVER (ORDER BY k) BETWEEN 2 AND 3

-- name: qualify_sum
SELECT k FROM a QUALIFY sum(n) OVER (PARTITION BY g) > 2

-- name: top_subquery
SELECT k, r FROM (SELECT k, row_number() OVER (PARTITION BY g ORDER BY x, k) AS r FROM a) WHERE r <= 2

-- name: rank_of_count
SELECT g, c, rank() OVER (ORDER BY c DESC) AS r FROM (SELECT g, count(*) AS c FROM a GROUP BY g)

-- name: count_of_rank
SELECT r, count(*) AS c FROM (SELECT rank() OVER (PARTITION BY g ORDER BY n) AS r FROM a) GROUP BY r

-- name: window_joined
SELECT a.k, b.k AS bk, row_number() OVER (PARTITION BY a.k ORDER BY b.k) AS r FROM a JOIN b ON a.g = b.g

-- name: stream_lag
SELECT k, n, lag(n) OVER (PARTITION BY g ORDER BY k, n, x) AS before FROM (SELECT DISTINCT k, g, n, x FROM e)

-- name: two_windows
SELECT k, row_number() OVER (ORDER BY k) AS r, sum(n) OVER (PARTITION BY g ORDER BY k) AS s FROM a
