-- name: sum_wild
SELECT g, sum(y) AS s, avg(y) AS mean FROM b WHERE y <> 0.1 GROUP BY g
-- by spark

-- name: spread_wild
SELECT skewness(n) AS s, kurtosis(n) AS t, regr_slope(n, k) AS r FROM a
-- by spark

-- name: percentiles
SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS p FROM a GROUP BY g
-- by spark

-- name: listed
SELECT g, listagg(k, ',') WITHIN GROUP (ORDER BY k) AS ks FROM a GROUP BY g
-- by spark

-- name: collected_pairs
SELECT g, sort_array(collect_list(struct(n, k))) AS p FROM a GROUP BY g
-- by spark

-- name: collected_doubles
SELECT sort_array(collect_set(y)) AS ys FROM b WHERE y <> 0
-- by spark

-- name: try_sums
SELECT g, try_sum(n) AS s, try_avg(m) AS mean FROM a GROUP BY g
-- by spark

-- name: by_array
SELECT tags, count(*) AS c FROM a GROUP BY tags

-- name: distinct_array
SELECT DISTINCT tags FROM a

-- name: count_distinct_array
SELECT count(DISTINCT tags) AS c FROM a

-- name: join_array
SELECT l.k, r.k AS rk FROM a l JOIN a r ON l.tags = r.tags

-- name: by_struct
SELECT s.p AS p, s.q AS q, c FROM (SELECT struct(g AS p, x AS q) AS s, count(*) AS c FROM a GROUP BY struct(g AS p,
  x AS q))
-- duckdb:
SELECT g AS p, x AS q, count(*) AS c FROM a GROUP BY g, x

-- name: greatest_struct
SELECT g, max(struct(n, k)).k AS k FROM a WHERE n IS NOT NULL GROUP BY g
-- duckdb:
SELECT g, arg_max(k, n * 100 + k) AS k FROM a WHERE n IS NOT NULL GROUP BY g

-- name: posexplode
SELECT k, p, t FROM a LATERAL VIEW posexplode(tags) v AS p, t
-- by spark

-- name: explode_sequence
SELECT k, i FROM a LATERAL VIEW explode(sequence(1, k)) v AS i
-- duckdb:
SELECT k, unnest(generate_series(1, k)) AS i FROM a

-- name: truncated
SELECT date_trunc('HOUR', due) AS h, count(*) AS c FROM a GROUP BY date_trunc('HOUR', due)

-- name: latest
SELECT max(due) - min(due) IS NULL AS none, count(due) AS c FROM a

-- name: decimals
SELECT g, sum(m * 2) AS s, max(m) - min(m) AS range, avg(m * n) AS mean FROM a GROUP BY g
-- by spark

-- name: by_ordinal
SELECT g, n, count(*) AS c FROM a GROUP BY 1, 2

-- name: by_alias
SELECT upper(g) AS u, count(*) AS c FROM a GROUP BY u

-- name: by_all
SELECT g, n IS NULL AS absent, max(k) AS hi FROM a GROUP BY ALL

-- name: having_only
SELECT g FROM a GROUP BY g HAVING count(DISTINCT n) = count(n)

-- name: distinct_counts
SELECT DISTINCT count(*) AS c FROM a GROUP BY g

-- name: in_pair
SELECT k FROM a WHERE (k, n) IN (SELECT k, n FROM b)

-- name: nested_exists
SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.g = a.g AND EXISTS (SELECT 1 FROM c WHERE c.g = b.g))

-- name: in_twice
SELECT k FROM a WHERE k IN (SELECT b.k FROM b) AND g IN (SELECT c.g FROM c)

-- name: in_either
SELECT k FROM a WHERE k IN (SELECT b.k FROM b) OR g IN (SELECT c.g FROM c)

-- name: not_in_or
SELECT k FROM a WHERE n NOT IN (SELECT b.n FROM b) OR k > 4

-- name: in_projected
SELECT k, k IN (SELECT b.k FROM b) AS both FROM a

-- name: scalar_in_case
SELECT k, CASE WHEN n = (SELECT max(b.n) FROM b) THEN 'top' ELSE 'not' END AS v FROM a

-- name: scalar_in_sum
SELECT g, sum(n - (SELECT min(b.n) FROM b)) AS s FROM a GROUP BY g

-- name: count_of_limit
SELECT count(*) AS c FROM (SELECT k FROM a LIMIT 3)

-- name: limit_none
SELECT k FROM a ORDER BY k LIMIT 0

-- name: offset_far
SELECT k FROM a ORDER BY k LIMIT 5 OFFSET 4

-- name: three_unions
SELECT g FROM a UNION SELECT g FROM b UNION SELECT g FROM c

-- name: intersect_in_except
SELECT g FROM a EXCEPT (SELECT g FROM b INTERSECT SELECT g FROM c)

-- name: sets_joined
SELECT u.g, a.k FROM (SELECT g FROM b EXCEPT SELECT g FROM c) u JOIN a ON a.g = u.g

-- name: window_filter
SELECT k, count(*) FILTER (WHERE n > 0) OVER (PARTITION BY g ORDER BY k) AS c FROM a

-- name: window_collected
SELECT k, size(collect_list(n) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)) AS c FROM
  a
-- by spark

-- name: window_peers_ahead
SELECT k, count(*) OVER (PARTITION BY g ORDER BY n RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS c FROM a

-- name: window_extreme_wild
SELECT k, max(y) OVER (PARTITION BY g) AS hi, min(y) OVER (ORDER BY k) AS lo FROM b

-- name: window_nth
SELECT k, nth_value(n, 2) OVER (PARTITION BY g ORDER BY k) AS second FROM a

-- name: window_of_window
SELECT k, sum(r) OVER (ORDER BY k) AS s FROM (SELECT k, row_number() OVER (PARTITION BY g ORDER BY k) AS r FROM a)

-- name: window_over_group
SELECT g, sum(n) AS s, sum(sum(n)) OVER (ORDER BY g) AS running FROM a GROUP BY g

-- name: window_difference
SELECT k, n - lag(n) OVER (ORDER BY k) AS d FROM a WHERE n IS NOT NULL

-- name: pivoted
SELECT sum(CASE WHEN g = 'a' THEN n END) AS a, sum(CASE WHEN g = 'b' THEN n END) AS b FROM a

-- name: four_joins
SELECT a.k, b.n, c.w, e.n AS en FROM a JOIN b ON b.k = a.k JOIN c ON c.g = b.g LEFT JOIN e ON e.k = a.k

-- name: join_of_sums
SELECT x.g, x.s, y.hi FROM (SELECT g, sum(n) AS s FROM a GROUP BY g) x JOIN (SELECT g, max(w) AS hi FROM c GROUP BY
  g) y ON x.g = y.g

-- name: sum_of_full
SELECT coalesce(a.g, b.g) AS g, count(a.k) AS ca, count(b.k) AS cb FROM a FULL JOIN b ON a.g = b.g GROUP BY
  coalesce(a.g, b.g)

-- name: anti_of_sums
SELECT t.g, t.c FROM (SELECT g, count(*) AS c FROM a GROUP BY g) t LEFT ANTI JOIN b ON b.n = t.c

-- name: stream_top
SELECT k, g, c FROM (SELECT k, g, count(*) AS c FROM e GROUP BY k, g) QUALIFY row_number() OVER (ORDER BY c DESC, k,
  g) <= 3

-- name: stream_distinct_sum
SELECT sum(DISTINCT n) AS s, count(DISTINCT g) AS c, count(DISTINCT x) AS cx FROM e

-- name: stream_extreme_joined
SELECT a.k, max(e.n) AS hi, count(e.k) AS c FROM a LEFT JOIN e ON e.k = a.k GROUP BY a.k

-- name: stream_group_wide
SELECT g, max_by(n, struct(k, n)) AS v, count_if(n > 0) AS c FROM e GROUP BY g
-- by spark

-- name: stream_intersect_all
SELECT k FROM e INTERSECT ALL SELECT n FROM e

-- name: distinct_expression
SELECT g, sort_array(collect_list(DISTINCT n % 2)) AS r, stddev(DISTINCT n % 2) AS d FROM a GROUP BY g
-- by spark

-- name: stream_distinct_expression
SELECT g, sort_array(collect_list(DISTINCT n % 2)) AS r, stddev(DISTINCT n % 2) AS d FROM e GROUP BY g
-- by spark

-- name: not_in_pair
SELECT k FROM a WHERE (k, n) NOT IN (SELECT b.k, b.n FROM b WHERE b.g = a.g)
-- by spark
