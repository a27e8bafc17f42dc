"""The queries that are kept current under random changes, each with how DuckDB is asked the same."""

from dataclasses import dataclass

TABLES = """\
CREATE TABLE a (k INT, g STRING, n INT, x DOUBLE, m DECIMAL(10, 2), due TIMESTAMP, tags ARRAY<STRING>, PRIMARY KEY (k))
  WITH (connector = 'memory');
CREATE TABLE b (k INT, g STRING, n INT, y DOUBLE, PRIMARY KEY (k)) WITH (connector = 'memory');
CREATE TABLE c (g STRING, h INT, label STRING, w INT, PRIMARY KEY (g, h)) WITH (connector = 'memory');
CREATE STREAM e (k INT, g STRING, n INT, x DOUBLE) WITH (connector = 'memory');
"""
"""What every application under test begins with: three keyed tables and a stream that only grows."""


@dataclass(frozen=True, slots=True)
class Template:
    """A query in Headrace's SQL; ``oracle`` is DuckDB's own text where the translation of ``sql`` would not do."""

    name: str
    sql: str
    oracle: str | None = None


def _named(*pairs: tuple[str, str] | tuple[str, str, str]) -> tuple[Template, ...]:
    return tuple(Template(*pair) for pair in pairs)


AGGREGATES = _named(
    ("count", "SELECT g, count(*) AS c, count(n) AS cn FROM a GROUP BY g"),
    ("sum", "SELECT g, sum(n) AS sn, sum(x) AS sx, sum(m) AS sm FROM a GROUP BY g"),
    ("mean", "SELECT g, avg(n) AS an, avg(x) AS ax, avg(m) AS am FROM a GROUP BY g"),
    ("extremes", "SELECT g, min(n) AS lo, max(n) AS hi, min(x) AS lox, max(x) AS hix FROM a GROUP BY g"),
    ("extremes_other", "SELECT n, min(g) AS lo, max(g) AS hi, min(due) AS first, max(m) AS most FROM a GROUP BY n"),
    ("extremes_wild", "SELECT g, min(y) AS lo, max(y) AS hi FROM b GROUP BY g"),
    ("count_distinct", "SELECT g, count(DISTINCT n) AS c FROM a GROUP BY g"),
    ("count_distinct_double", "SELECT g, count(DISTINCT x) AS c FROM a GROUP BY g"),
    ("count_distinct_wild", "SELECT count(DISTINCT y) AS c FROM b"),
    ("sum_distinct", "SELECT g, sum(DISTINCT n) AS s, avg(DISTINCT n) AS mean FROM a GROUP BY g"),
    ("several_distinct", "SELECT g, count(DISTINCT n) AS cn, count(DISTINCT k % 2) AS ck, sum(n) AS s FROM a GROUP BY g"),
    (
        "count_distinct_pair",
        "SELECT g, count(DISTINCT n, m) AS c FROM a GROUP BY g",
        "SELECT g, count(DISTINCT CASE WHEN n IS NULL OR m IS NULL THEN NULL ELSE row(n, m) END) AS c FROM a GROUP BY g",
    ),
    ("filtered", "SELECT g, count(*) FILTER (WHERE n > 0) AS c, sum(n) FILTER (WHERE x >= 0) AS s FROM a GROUP BY g"),
    ("filtered_extreme", "SELECT g, max(n) FILTER (WHERE x < 1) AS hi, min(m) FILTER (WHERE n <> 1) AS lo FROM a GROUP BY g"),
    ("filtered_distinct", "SELECT g, count(DISTINCT n) FILTER (WHERE k > 2) AS c FROM a GROUP BY g"),
    ("having", "SELECT g, count(*) AS c FROM a GROUP BY g HAVING count(*) > 1"),
    ("having_extreme", "SELECT g FROM a GROUP BY g HAVING max(n) > 1 OR min(n) IS NULL"),
    ("spread", "SELECT g, stddev(n) AS d, var_pop(n) AS v FROM a GROUP BY g"),
    ("median", "SELECT g, median(n) AS md, percentile(n, 0.25) AS q FROM a GROUP BY g",
     "SELECT g, median(n) AS md, quantile_cont(n, 0.25) AS q FROM a GROUP BY g"),
    ("correlation", "SELECT count(*) AS c, covar_pop(n, k) AS r FROM a"),
    ("bool_all_any", "SELECT g, bool_and(n > 0) AS every, bool_or(n > 1) AS some FROM a GROUP BY g"),
    ("bits", "SELECT g, bit_or(n) AS o, bit_and(n) AS a, bit_xor(n) AS x FROM a GROUP BY g"),
    ("count_if", "SELECT g, count_if(n > 0) AS c FROM a GROUP BY g",
     "SELECT g, count(*) FILTER (WHERE n > 0) AS c FROM a GROUP BY g"),
    ("greatest_by", "SELECT g, max_by(n, k) AS last, min_by(x, k) AS first FROM a GROUP BY g",
     "SELECT g, arg_max_null(n, k) AS last, arg_min_null(x, k) AS first FROM a GROUP BY g"),
    ("collected", "SELECT g, sort_array(collect_list(n)) AS ns, sort_array(collect_set(n)) AS set FROM a GROUP BY g",
     "SELECT g, coalesce(list_sort(list(n) FILTER (WHERE n IS NOT NULL)), []) AS ns, "
     "coalesce(list_sort(list(DISTINCT n) FILTER (WHERE n IS NOT NULL)), []) AS set FROM a GROUP BY g"),
    ("global", "SELECT count(*) AS c, sum(n) AS s, min(n) AS lo, max(g) AS hi, avg(m) AS am FROM a"),
    ("global_filtered", "SELECT count(*) AS c, sum(n) AS s FROM a WHERE k > 3"),
    ("global_nothing", "SELECT count(*) AS c, max(n) AS hi FROM a WHERE k > 1000"),
    ("global_having", "SELECT count(*) AS c FROM a HAVING count(*) > 2"),
    ("by_expression", "SELECT k % 3 AS r, n IS NULL AS absent, count(*) AS c FROM a GROUP BY k % 3, n IS NULL"),
    ("by_double", "SELECT x, count(*) AS c, sum(k) AS s FROM a GROUP BY x"),
    ("by_wild", "SELECT y, count(*) AS c FROM b GROUP BY y"),
    ("by_decimal", "SELECT m, count(*) AS c FROM a GROUP BY m"),
    ("by_time", "SELECT due, count(*) AS c, max(k) AS hi FROM a GROUP BY due"),
    ("by_several", "SELECT g, n, count(*) AS c FROM a GROUP BY g, n"),
    ("rollup", "SELECT g, n, count(*) AS c, grouping(n) AS total FROM a GROUP BY ROLLUP (g, n)"),
    ("cube", "SELECT g, n, sum(k) AS s FROM a GROUP BY CUBE (g, n)"),
    ("grouping_sets", "SELECT g, n, count(*) AS c FROM a GROUP BY GROUPING SETS ((g), (n), ())"),
    ("over_sums", "SELECT c, count(*) AS groups FROM (SELECT g, count(*) AS c FROM a GROUP BY g) GROUP BY c"),
    ("most_of_sums", "SELECT max(s) AS hi, min(s) AS lo, count(s) AS c FROM (SELECT g, sum(n) AS s FROM a GROUP BY g)"),
    ("arithmetic", "SELECT g, sum(n) * 2 + count(*) AS v, max(n) - min(n) AS range FROM a GROUP BY g"),
    ("conditional", "SELECT sum(CASE WHEN n > 0 THEN 1 WHEN n IS NULL THEN 10 ELSE 0 END) AS v FROM a"),
    ("stream_count", "SELECT g, count(*) AS c, sum(n) AS s, max(x) AS hi FROM e GROUP BY g"),
    ("stream_distinct", "SELECT g, count(DISTINCT n) AS c, sort_array(collect_set(n)) AS ns FROM e GROUP BY g",
     "SELECT g, count(DISTINCT n) AS c, coalesce(list_sort(list(DISTINCT n) FILTER (WHERE n IS NOT NULL)), []) AS ns "
     "FROM e GROUP BY g"),
    ("stream_spread", "SELECT g, stddev(n) AS d, bool_or(n > 1) AS some, min(n) AS lo FROM e GROUP BY g"),
    ("stream_sums", "SELECT c, sum(s) AS s FROM (SELECT g, count(*) AS c, sum(n) AS s FROM e GROUP BY g) GROUP BY c"),
)

JOINS = _named(
    ("inner", "SELECT a.k, a.g, b.n, b.y FROM a JOIN b ON a.k = b.k"),
    ("left", "SELECT a.k, a.n, b.k AS bk, b.g FROM a LEFT JOIN b ON a.k = b.k"),
    ("right", "SELECT a.k, a.n, b.k AS bk, b.g FROM a RIGHT JOIN b ON a.n = b.n"),
    ("full", "SELECT a.k, a.n, b.k AS bk, b.n AS bn FROM a FULL JOIN b ON a.n = b.n"),
    ("semi", "SELECT a.k, a.g FROM a LEFT SEMI JOIN b ON a.g = b.g"),
    ("anti", "SELECT a.k, a.g FROM a LEFT ANTI JOIN b ON a.g = b.g"),
    ("many_to_many", "SELECT a.k, b.k AS bk, a.g FROM a JOIN b ON a.g = b.g"),
    ("left_many", "SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.g = b.g"),
    ("inner_residual", "SELECT a.k, b.k AS bk FROM a JOIN b ON a.g = b.g AND a.n < b.n"),
    ("left_residual", "SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.g = b.g AND a.n < b.n"),
    ("right_residual", "SELECT a.k, b.k AS bk FROM a RIGHT JOIN b ON a.g = b.g AND a.n <> b.n"),
    ("full_residual", "SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.g = b.g AND a.n >= b.n"),
    ("semi_residual", "SELECT a.k FROM a LEFT SEMI JOIN b ON a.g = b.g AND a.n > b.n"),
    ("anti_residual", "SELECT a.k FROM a LEFT ANTI JOIN b ON a.g = b.g AND a.n > b.n"),
    ("full_one_sided", "SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.k = b.k AND a.n > 0"),
    ("no_equality", "SELECT a.k, b.k AS bk FROM a JOIN b ON a.n < b.n"),
    ("left_no_equality", "SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.n > b.n"),
    ("full_no_equality", "SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.n > b.n + 1"),
    ("expressions", "SELECT a.k, b.k AS bk FROM a JOIN b ON a.k % 3 = b.k % 3 AND upper(a.g) = upper(b.g)"),
    ("null_safe", "SELECT a.k, b.k AS bk FROM a JOIN b ON a.n <=> b.n"),
    ("null_safe_full", "SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.g <=> b.g AND a.n = b.n"),
    ("null_safe_anti", "SELECT a.k FROM a LEFT ANTI JOIN b ON a.n <=> b.n"),
    ("double_keys", "SELECT a.k, b.k AS bk, a.x, b.y FROM a JOIN b ON a.x = b.y"),
    ("double_keys_left", "SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.x = b.y"),
    ("self", "SELECT l.k, r.k AS rk FROM a l JOIN a r ON l.g = r.g AND l.k < r.k"),
    ("self_left", "SELECT l.k, r.k AS rk, r.n FROM a l LEFT JOIN a r ON l.n = r.k"),
    ("self_same", "SELECT l.k, l.x, r.x AS rx FROM a l JOIN a r ON l.k = r.k"),
    ("three", "SELECT a.k, b.n, c.label FROM a JOIN b ON a.k = b.k JOIN c ON c.g = a.g"),
    ("three_left", "SELECT a.k, b.n, c.label FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON c.g = b.g AND c.h = a.n"),
    ("three_full", "SELECT a.k, b.k AS bk, c.h FROM a FULL JOIN b ON a.k = b.k FULL JOIN c ON c.g = b.g AND c.h = b.n"),
    ("using", "SELECT k, a.n, b.n AS bn FROM a JOIN b USING (k)"),
    ("using_full", "SELECT k, a.n, b.n AS bn FROM a FULL JOIN b USING (k)"),
    ("comma", "SELECT a.k, c.h FROM a, c WHERE a.g = c.g AND a.n < c.w"),
    ("cross", "SELECT a.k, c.g, c.h FROM a CROSS JOIN c"),
    ("cross_total", "SELECT a.k, a.n, t.total FROM a CROSS JOIN (SELECT sum(n) AS total, count(*) AS c FROM a) t"),
    ("cross_compare", "SELECT a.k FROM a CROSS JOIN (SELECT avg(n) AS mean FROM b) t WHERE a.n > t.mean"),
    ("where_over_left", "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL OR b.n > 1"),
    ("coalesced", "SELECT coalesce(a.k, b.k) AS k, coalesce(a.n, b.n, -9) AS n FROM a FULL JOIN b ON a.k = b.k"),
    ("join_count", "SELECT a.g, count(*) AS c, count(b.k) AS cb, sum(b.n) AS s FROM a LEFT JOIN b ON a.g = b.g GROUP BY a.g"),
    ("join_extreme", "SELECT b.g, max(a.n) AS hi, min(a.x) AS lo FROM a JOIN b ON a.k = b.k GROUP BY b.g"),
    ("count_joined", "SELECT b.k, b.g, t.c FROM b LEFT JOIN (SELECT g, count(*) AS c FROM a GROUP BY g) t ON t.g = b.g"),
    (
        "sums_joined",
        "SELECT s.g, s.v, t.v AS tv FROM (SELECT g, sum(n) AS v FROM a GROUP BY g) s "
        "FULL JOIN (SELECT g, sum(n) AS v FROM b GROUP BY g) t ON s.g = t.g",
    ),
    ("filtered_sides", "SELECT l.k, r.k AS rk FROM (SELECT * FROM a WHERE n > 0) l JOIN (SELECT * FROM b WHERE y > 0) r ON l.g = r.g"),
    ("stream_inner", "SELECT e.k, e.n, a.g, a.m FROM e JOIN a ON e.k = a.k"),
    ("stream_left", "SELECT e.k, e.n, a.g FROM e LEFT JOIN a ON e.k = a.k"),
    ("stream_right", "SELECT e.n, a.k FROM e RIGHT JOIN a ON e.k = a.k AND e.n > 0"),
    ("stream_full", "SELECT e.n, e.g, b.k FROM e FULL JOIN b ON e.g = b.g"),
    ("stream_semi", "SELECT e.k, e.g FROM e LEFT SEMI JOIN a ON e.k = a.k AND a.n > 0"),
    ("stream_anti", "SELECT a.k FROM a LEFT ANTI JOIN e ON e.k = a.k"),
    ("stream_sum", "SELECT a.g, sum(e.x) AS s, count(*) AS c FROM e JOIN a ON e.k = a.k GROUP BY a.g"),
    ("stream_self", "SELECT l.k, l.n, r.n AS rn FROM e l LEFT JOIN e r ON l.k = r.n"),
    ("composite_key", "SELECT a.k, c.label, c.w FROM a LEFT JOIN c ON a.g = c.g AND a.n = c.h"),
)

SETS = _named(
    ("distinct", "SELECT DISTINCT g, n FROM a"),
    ("distinct_double", "SELECT DISTINCT x FROM a"),
    ("distinct_wild", "SELECT DISTINCT y FROM b"),
    ("distinct_stream", "SELECT DISTINCT g, n FROM e"),
    ("distinct_joined", "SELECT DISTINCT a.g, b.n FROM a LEFT JOIN b ON a.g = b.g"),
    ("union_all", "SELECT g, n FROM a UNION ALL SELECT g, n FROM b"),
    ("union", "SELECT g, n FROM a UNION SELECT g, n FROM b"),
    ("union_same", "SELECT g FROM a UNION ALL SELECT g FROM a"),
    ("union_stream", "SELECT k, g, n FROM e UNION ALL SELECT k, g, n FROM a"),
    ("union_doubles", "SELECT x FROM a UNION SELECT y FROM b"),
    ("intersect", "SELECT g, n FROM a INTERSECT SELECT g, n FROM b"),
    ("intersect_all", "SELECT g FROM a INTERSECT ALL SELECT g FROM b"),
    ("except", "SELECT g, n FROM a EXCEPT SELECT g, n FROM b"),
    ("except_all", "SELECT g FROM a EXCEPT ALL SELECT g FROM b"),
    ("except_stream", "SELECT k FROM a EXCEPT SELECT k FROM e"),
    ("except_all_stream", "SELECT n FROM e EXCEPT ALL SELECT n FROM a"),
    ("intersect_doubles", "SELECT x FROM a INTERSECT SELECT y FROM b"),
    ("nested_sets", "SELECT g FROM a UNION SELECT g FROM b EXCEPT SELECT g FROM c",
     "(SELECT g FROM a UNION SELECT g FROM b) EXCEPT SELECT g FROM c"),
    ("count_union", "SELECT g, count(*) AS c FROM (SELECT g, n FROM a UNION ALL SELECT g, n FROM b) GROUP BY g"),
)

WINDOWS = _named(
    ("row_number", "SELECT k, g, row_number() OVER (PARTITION BY g ORDER BY k) AS r FROM a"),
    ("row_number_desc", "SELECT k, row_number() OVER (PARTITION BY g ORDER BY n DESC, k) AS r FROM a"),
    ("ranks", "SELECT k, rank() OVER w AS r, dense_rank() OVER w AS d FROM a WINDOW w AS (PARTITION BY g ORDER BY n)"),
    ("ranks_double", "SELECT k, rank() OVER (ORDER BY x) AS r FROM a"),
    ("ranks_wild", "SELECT k, dense_rank() OVER (ORDER BY y DESC) AS r FROM b"),
    ("shares", "SELECT k, percent_rank() OVER (PARTITION BY g ORDER BY n) AS p, cume_dist() OVER (PARTITION BY g ORDER BY n) AS q FROM a"),
    ("ntile", "SELECT k, ntile(3) OVER (ORDER BY k DESC) AS t FROM a"),
    ("lag_lead", "SELECT k, lag(n) OVER (PARTITION BY g ORDER BY k) AS before, lead(n, 1, -5) OVER (PARTITION BY g ORDER BY k) AS after FROM a"),
    ("lag_two", "SELECT k, lag(n, 2, k) OVER (ORDER BY k) AS before FROM a"),
    ("total", "SELECT k, n, sum(n) OVER (PARTITION BY g) AS total, count(*) OVER () AS every FROM a"),
    ("running", "SELECT k, sum(n) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s FROM a"),
    ("running_peers", "SELECT k, sum(k) OVER (PARTITION BY g ORDER BY n) AS s, count(n) OVER (PARTITION BY g ORDER BY n) AS c FROM a"),
    ("rows_frame", "SELECT k, sum(n) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM a"),
    ("rows_behind", "SELECT k, max(n) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS hi FROM a"),
    ("rows_ahead", "SELECT k, min(n) OVER (ORDER BY k DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS lo FROM a"),
    ("mean_frame", "SELECT k, avg(x) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS mean FROM a"),
    ("first_last", "SELECT k, first_value(n) OVER (PARTITION BY g ORDER BY k) AS first, "
     "last_value(n) OVER (PARTITION BY g ORDER BY k ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last FROM a"),
    ("partition_double", "SELECT k, count(*) OVER (PARTITION BY x) AS c FROM a"),
    ("qualify", "SELECT k, g, n FROM a QUALIFY row_number() OVER (PARTITION BY g ORDER BY n DESC, k) = 1"),
    ("qualify_two", "SELECT k, g FROM a QUALIFY row_number() OVER (PARTITION BY g ORDER BY k) <= 2"),
    ("qualify_rank", "SELECT k, g FROM a QUALIFY rank() OVER (PARTITION BY g ORDER BY n) <= 2"),
    ("qualify_dense", "SELECT k, g FROM a QUALIFY dense_rank() OVER (PARTITION BY g ORDER BY n DESC) <= 2"),
    ("qualify_stream", "SELECT k, g, n FROM e QUALIFY rank() OVER (PARTITION BY g ORDER BY n DESC, k) <= 2"),
    ("qualify_between", "SELECT k FROM a QUALIFY row_number() OVER (ORDER BY k) BETWEEN 2 AND 3"),
    ("qualify_sum", "SELECT k FROM a QUALIFY sum(n) OVER (PARTITION BY g) > 2"),
    ("top_subquery", "SELECT k, r FROM (SELECT k, row_number() OVER (PARTITION BY g ORDER BY x, k) AS r FROM a) WHERE r <= 2"),
    ("rank_of_count", "SELECT g, c, rank() OVER (ORDER BY c DESC) AS r FROM (SELECT g, count(*) AS c FROM a GROUP BY g)"),
    ("count_of_rank", "SELECT r, count(*) AS c FROM (SELECT rank() OVER (PARTITION BY g ORDER BY n) AS r FROM a) GROUP BY r"),
    ("window_joined", "SELECT a.k, b.k AS bk, row_number() OVER (PARTITION BY a.k ORDER BY b.k) AS r FROM a JOIN b ON a.g = b.g"),
    ("stream_lag", "SELECT k, n, lag(n) OVER (PARTITION BY g ORDER BY k, n, x) AS before FROM (SELECT DISTINCT k, g, n, x FROM e)"),
    ("two_windows", "SELECT k, row_number() OVER (ORDER BY k) AS r, sum(n) OVER (PARTITION BY g ORDER BY k) AS s FROM a"),
)

TOPS = _named(
    ("top", "SELECT k, n FROM a ORDER BY n DESC, k LIMIT 3"),
    ("top_ascending", "SELECT k, x FROM a ORDER BY x, k LIMIT 2"),
    ("top_hidden", "SELECT g FROM a ORDER BY k LIMIT 2"),
    ("top_offset", "SELECT k, g FROM a ORDER BY g, k LIMIT 2 OFFSET 1"),
    ("offset", "SELECT k FROM a ORDER BY k OFFSET 3"),
    ("top_nulls", "SELECT k, n FROM a ORDER BY n ASC NULLS LAST, k DESC LIMIT 3"),
    ("top_wild", "SELECT k, y FROM b ORDER BY y DESC, k LIMIT 2"),
    ("top_of_count", "SELECT g, count(*) AS c FROM a GROUP BY g ORDER BY c DESC, g LIMIT 2"),
    ("top_of_join", "SELECT a.k, b.k AS bk FROM a JOIN b ON a.g = b.g ORDER BY a.k DESC, b.k LIMIT 3"),
    ("count_of_top", "SELECT count(*) AS c, sum(n) AS s FROM (SELECT n FROM a ORDER BY k LIMIT 3)"),
    ("top_of_top", "SELECT k FROM (SELECT k FROM a ORDER BY k LIMIT 4) ORDER BY k LIMIT 2 OFFSET 1"),
    ("offset_of_top", "SELECT k FROM (SELECT k FROM a ORDER BY k LIMIT 3) ORDER BY k OFFSET 2"),
    ("top_of_offset", "SELECT k FROM (SELECT k FROM a ORDER BY k OFFSET 1) ORDER BY k LIMIT 2 OFFSET 1"),
    ("top_reversed", "SELECT k FROM (SELECT k FROM a ORDER BY k LIMIT 4) ORDER BY k DESC LIMIT 2"),
    ("top_joined", "SELECT t.k, b.n FROM (SELECT k FROM a ORDER BY k DESC LIMIT 2) t LEFT JOIN b ON b.k = t.k"),
    ("top_stream", "SELECT DISTINCT k, n FROM e ORDER BY n DESC, k LIMIT 3"),
)

SUBQUERIES = _named(
    ("in", "SELECT k FROM a WHERE n IN (SELECT n FROM b)"),
    ("in_filtered", "SELECT k FROM a WHERE g IN (SELECT g FROM b WHERE n > 0)"),
    ("in_or", "SELECT k FROM a WHERE n IN (SELECT n FROM b) OR k < 2"),
    ("in_grouped", "SELECT k FROM a WHERE g IN (SELECT g FROM b GROUP BY g HAVING count(*) > 1)"),
    ("not_in", "SELECT k FROM a WHERE n NOT IN (SELECT n FROM b)"),
    ("not_in_kept", "SELECT k FROM a WHERE n NOT IN (SELECT n FROM b WHERE n IS NOT NULL)"),
    ("exists", "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.g = a.g AND b.n > a.n)"),
    ("not_exists", "SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"),
    ("not_exists_residual", "SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.g = a.g AND b.n > a.n)"),
    ("exists_or", "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) OR n = 0"),
    ("exists_any", "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE n = 2)"),
    ("not_exists_any", "SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE n = 2)"),
    ("scalar", "SELECT k, n, (SELECT max(n) FROM b) AS hi FROM a"),
    ("scalar_where", "SELECT k FROM a WHERE n > (SELECT avg(n) FROM a)"),
    ("scalar_twice", "SELECT k FROM a WHERE n BETWEEN (SELECT min(n) FROM b) AND (SELECT max(n) FROM b)"),
    ("scalar_nothing", "SELECT k, (SELECT sum(n) FROM b WHERE k > 100) AS s FROM a"),
    ("scalar_having", "SELECT g, count(*) AS c FROM a GROUP BY g HAVING count(*) >= (SELECT count(*) FROM b WHERE n = 1)"),
    ("correlated_scalar", "SELECT k, (SELECT max(b.n) FROM b WHERE b.g = a.g) AS hi FROM a"),
    ("correlated_count", "SELECT k, (SELECT count(*) FROM b WHERE b.g = a.g) AS c FROM a"),
    ("correlated_where", "SELECT k FROM a WHERE n > (SELECT avg(o.n) FROM a o WHERE o.g = a.g)"),
    ("correlated_in", "SELECT k FROM a WHERE n IN (SELECT b.n FROM b WHERE b.g = a.g)"),
    ("correlated_not_in", "SELECT k FROM a WHERE n NOT IN (SELECT b.n FROM b WHERE b.g = a.g)"),
    ("exists_stream", "SELECT k FROM a WHERE EXISTS (SELECT 1 FROM e WHERE e.k = a.k AND e.n > 0)"),
    ("stream_in", "SELECT k, n FROM e WHERE k IN (SELECT k FROM a WHERE n > 0)"),
    ("scalar_stream", "SELECT k, n FROM e WHERE n >= (SELECT max(n) FROM a)"),
    ("case_exists", "SELECT k, CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.k = a.k) THEN 'both' ELSE 'one' END AS v FROM a"),
)

OTHERS = _named(
    ("plain", "SELECT * EXCEPT (tags) FROM a", "SELECT * EXCLUDE (tags) FROM a"),
    ("filter", "SELECT k, g FROM a WHERE n > 0 OR g IS NULL"),
    ("null_logic", "SELECT k, n > 1 AS more, NOT (n > 1) AS less, n > 1 OR g = 'a' AS either FROM a"),
    ("cases", "SELECT k, CASE g WHEN 'a' THEN 1 WHEN '' THEN 2 END AS v, coalesce(g, 'none') AS w, nullif(n, 1) AS z FROM a"),
    ("explode", "SELECT k, t FROM a LATERAL VIEW explode(tags) v AS t",
     "SELECT k, unnest(tags) AS t FROM a"),
    ("explode_outer", "SELECT k, t FROM a LATERAL VIEW OUTER explode(tags) v AS t",
     "SELECT k, unnest(CASE WHEN tags IS NULL OR len(tags) = 0 THEN [NULL] ELSE tags END) AS t FROM a"),
    ("explode_count", "SELECT t, count(*) AS c FROM a LATERAL VIEW explode(tags) v AS t GROUP BY t",
     "SELECT t, count(*) AS c FROM (SELECT unnest(tags) AS t FROM a) GROUP BY t"),
    ("explode_joined", "SELECT x.k, b.k AS bk FROM (SELECT k, t FROM a LATERAL VIEW explode(tags) v AS t) x JOIN b ON b.g = x.t",
     "SELECT x.k, b.k AS bk FROM (SELECT k, unnest(tags) AS t FROM a) x JOIN b ON b.g = x.t"),
    ("with_query", "WITH s AS (SELECT g, sum(n) AS v FROM a GROUP BY g), t AS (SELECT max(v) AS hi FROM s) "
     "SELECT s.g, s.v FROM s JOIN t ON s.v = t.hi"),
    ("with_twice", "WITH s AS (SELECT g, count(*) AS c FROM a GROUP BY g) SELECT l.g, r.g AS rg FROM s l JOIN s r ON l.c = r.c"),
    ("values_joined", "SELECT v.g, count(a.k) AS c FROM (VALUES ('a'), ('b'), ('z')) AS v(g) LEFT JOIN a ON a.g = v.g GROUP BY v.g"),
    ("constant_union", "SELECT k FROM a UNION ALL SELECT 99 AS k"),
    ("text", "SELECT upper(g) AS u, concat(g, '-', k) AS w, length(g) AS l FROM a"),
)

ALL = (*AGGREGATES, *JOINS, *SETS, *WINDOWS, *TOPS, *SUBQUERIES, *OTHERS)
"""Every template, each under a name of its own."""
