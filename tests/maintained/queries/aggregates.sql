-- name: count
SELECT g, count(*) AS c, count(n) AS cn FROM a GROUP BY g

-- name: sum
SELECT g, sum(n) AS sn, sum(x) AS sx, sum(m) AS sm FROM a GROUP BY g

-- name: mean
SELECT g, avg(n) AS an, avg(x) AS ax, avg(m) AS am FROM a GROUP BY g

-- name: extremes
SELECT g, min(n) AS lo, max(n) AS hi, min(x) AS lox, max(x) AS hix FROM a GROUP BY g

-- name: extremes_other
SELECT n, min(g) AS lo, max(g) AS hi, min(due) AS first, max(m) AS most FROM a GROUP BY n

-- name: extremes_wild
SELECT g, min(y) AS lo, max(y) AS hi FROM b GROUP BY g

-- name: count_distinct
SELECT g, count(DISTINCT n) AS c FROM a GROUP BY g

-- name: count_distinct_double
SELECT g, count(DISTINCT x) AS c FROM a GROUP BY g

-- name: count_distinct_wild
SELECT count(DISTINCT y) AS c FROM b

-- name: sum_distinct
SELECT g, sum(DISTINCT n) AS s, avg(DISTINCT n) AS mean FROM a GROUP BY g

-- name: several_distinct
SELECT g, count(DISTINCT n) AS cn, count(DISTINCT k % 2) AS ck, sum(n) AS s FROM a GROUP BY g

-- name: count_distinct_pair
SELECT g, count(DISTINCT n, m) AS c FROM a GROUP BY g
-- duckdb:
SELECT g, count(DISTINCT CASE WHEN n IS NULL OR m IS NULL THEN NULL ELSE row(n, m) END) AS c FROM a GROUP BY g

-- name: filtered
SELECT g, count(*) FILTER (WHERE n > 0) AS c, sum(n) FILTER (WHERE x >= 0) AS s FROM a GROUP BY g

-- name: filtered_extreme
SELECT g, max(n) FILTER (WHERE x < 1) AS hi, min(m) FILTER (WHERE n <> 1) AS lo FROM a GROUP BY g

-- name: filtered_distinct
SELECT g, count(DISTINCT n) FILTER (WHERE k > 2) AS c FROM a GROUP BY g

-- name: having
SELECT g, count(*) AS c FROM a GROUP BY g HAVING count(*) > 1

-- name: having_extreme
SELECT g FROM a GROUP BY g HAVING max(n) > 1 OR min(n) IS NULL

-- name: spread
SELECT g, stddev(n) AS d, var_pop(n) AS v FROM a GROUP BY g

-- name: median
SELECT g, median(n) AS md, percentile(n, 0.25) AS q FROM a GROUP BY g
-- duckdb:
SELECT g, median(n) AS md, quantile_cont(n, 0.25) AS q FROM a GROUP BY g

-- name: correlation
SELECT count(*) AS c, covar_pop(n, k) AS r FROM a

-- name: bool_all_any
SELECT g, bool_and(n > 0) AS every, bool_or(n > 1) AS some FROM a GROUP BY g

-- name: bits
SELECT g, bit_or(n) AS o, bit_and(n) AS a, bit_xor(n) AS x FROM a GROUP BY g

-- name: count_if
SELECT g, count_if(n > 0) AS c FROM a GROUP BY g
-- duckdb:
SELECT g, count(*) FILTER (WHERE n > 0) AS c FROM a GROUP BY g

-- name: greatest_by
SELECT g, max_by(n, k) AS last, min_by(x, k) AS first FROM a GROUP BY g
-- duckdb:
SELECT g, arg_max_null(n, k) AS last, arg_min_null(x, k) AS first FROM a GROUP BY g

-- name: collected
SELECT g, sort_array(collect_list(n)) AS ns, sort_array(collect_set(n)) AS set FROM a GROUP BY g
-- duckdb:
SELECT g, coalesce(list_sort(list(n) FILTER (WHERE n IS NOT NULL)), []) AS ns, coalesce(list_sort(list(DISTINCT n)
  FILTER (WHERE n IS NOT NULL)), []) AS set FROM a GROUP BY g

-- name: global
SELECT count(*) AS c, sum(n) AS s, min(n) AS lo, max(g) AS hi, avg(m) AS am FROM a

-- name: global_filtered
SELECT count(*) AS c, sum(n) AS s FROM a WHERE k > 3

-- name: global_nothing
SELECT count(*) AS c, max(n) AS hi FROM a WHERE k > 1000

-- name: global_having
SELECT count(*) AS c FROM a HAVING count(*) > 2

-- name: by_expression
SELECT k % 3 AS r, n IS NULL AS absent, count(*) AS c FROM a GROUP BY k % 3, n IS NULL

-- name: by_double
SELECT x, count(*) AS c, sum(k) AS s FROM a GROUP BY x

-- name: by_wild
SELECT y, count(*) AS c FROM b GROUP BY y

-- name: by_decimal
SELECT m, count(*) AS c FROM a GROUP BY m

-- name: by_time
SELECT due, count(*) AS c, max(k) AS hi FROM a GROUP BY due

-- name: by_several
SELECT g, n, count(*) AS c FROM a GROUP BY g, n

-- name: rollup
-- refused: ROLLUP is not supported yet
SELECT g, n, count(*) AS c, grouping(n) AS total FROM a GROUP BY ROLLUP (g, n)

-- name: cube
-- refused: CUBE is not supported yet
SELECT g, n, sum(k) AS s FROM a GROUP BY CUBE (g, n)

-- name: grouping_sets
-- refused: GROUPING SETS is not supported yet
SELECT g, n, count(*) AS c FROM a GROUP BY GROUPING SETS ((g), (n), ())

-- name: over_sums
SELECT c, count(*) AS groups FROM (SELECT g, count(*) AS c FROM a GROUP BY g) GROUP BY c

-- name: most_of_sums
SELECT max(s) AS hi, min(s) AS lo, count(s) AS c FROM (SELECT g, sum(n) AS s FROM a GROUP BY g)

-- name: arithmetic
SELECT g, sum(n) * 2 + count(*) AS v, max(n) - min(n) AS range FROM a GROUP BY g

-- name: conditional
SELECT sum(CASE WHEN n > 0 THEN 1 WHEN n IS NULL THEN 10 ELSE 0 END) AS v FROM a

-- name: stream_count
SELECT g, count(*) AS c, sum(n) AS s, max(x) AS hi FROM e GROUP BY g

-- name: stream_distinct
SELECT g, count(DISTINCT n) AS c, sort_array(collect_set(n)) AS ns FROM e GROUP BY g
-- duckdb:
SELECT g, count(DISTINCT n) AS c, coalesce(list_sort(list(DISTINCT n) FILTER (WHERE n IS NOT NULL)), []) AS ns FROM
  e GROUP BY g

-- name: stream_spread
SELECT g, stddev(n) AS d, bool_or(n > 1) AS some, min(n) AS lo FROM e GROUP BY g

-- name: stream_sums
SELECT c, sum(s) AS s FROM (SELECT g, count(*) AS c, sum(n) AS s FROM e GROUP BY g) GROUP BY c
