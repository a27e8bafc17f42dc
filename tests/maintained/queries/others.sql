-- name: plain
SELECT * EXCEPT (tags) FROM a
-- duckdb:
SELECT * EXCLUDE (tags) FROM a

-- name: filter
SELECT k, g FROM a WHERE n > 0 OR g IS NULL

-- name: null_logic
SELECT k, n > 1 AS more, NOT (n > 1) AS less, n > 1 OR g = 'a' AS either FROM a

-- name: cases
SELECT k, CASE g WHEN 'a' THEN 1 WHEN '' THEN 2 END AS v, coalesce(g, 'none') AS w, nullif(n, 1) AS z FROM a

-- name: explode
SELECT k, t FROM a LATERAL VIEW explode(tags) v AS t
-- duckdb:
SELECT k, unnest(tags) AS t FROM a

-- name: explode_outer
SELECT k, t FROM a LATERAL VIEW OUTER explode(tags) v AS t
-- duckdb:
SELECT k, unnest(CASE WHEN tags IS NULL OR len(tags) = 0 THEN [NULL] ELSE tags END) AS t FROM a

-- name: explode_count
SELECT t, count(*) AS c FROM a LATERAL VIEW explode(tags) v AS t GROUP BY t
-- duckdb:
SELECT t, count(*) AS c FROM (SELECT unnest(tags) AS t FROM a) GROUP BY t

-- name: explode_joined
SELECT x.k, b.k AS bk FROM (SELECT k, t FROM a LATERAL VIEW explode(tags) v AS t) x JOIN b ON b.g = x.t
-- duckdb:
SELECT x.k, b.k AS bk FROM (SELECT k, unnest(tags) AS t FROM a) x JOIN b ON b.g = x.t

-- name: with_query
WITH s AS (SELECT g, sum(n) AS v FROM a GROUP BY g), t AS (SELECT max(v) AS hi FROM s) SELECT s.g, s.v FROM s JOIN t
  ON s.v = t.hi

-- name: with_twice
WITH s AS (SELECT g, count(*) AS c FROM a GROUP BY g) SELECT l.g, r.g AS rg FROM s l JOIN s r ON l.c = r.c

-- name: values_joined
-- refused: a left join that keeps the rows of a table has no end
SELECT v.g, count(a.k) AS c FROM (VALUES ('a'), ('b'), ('z')) AS v(g) LEFT JOIN a ON a.g = v.g GROUP BY v.g

-- name: constant_union
-- refused: UNION of a stream and a table
SELECT k FROM a UNION ALL SELECT 99 AS k

-- name: text
SELECT upper(g) AS u, concat(g, '-', k) AS w, length(g) AS l FROM a
