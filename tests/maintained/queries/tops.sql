-- name: top
SELECT k, n FROM a ORDER BY n DESC, k LIMIT 3

-- name: top_ascending
SELECT k, x FROM a ORDER BY x, k LIMIT 2

-- name: top_hidden
SELECT g FROM a ORDER BY k LIMIT 2

-- name: top_offset
SELECT k, g FROM a ORDER BY g, k LIMIT 2 OFFSET 1

-- name: offset
SELECT k FROM a ORDER BY k OFFSET 3

-- name: top_nulls
SELECT k, n FROM a ORDER BY n ASC NULLS LAST, k DESC LIMIT 3

-- name: top_wild
SELECT k, y FROM b ORDER BY y DESC, k LIMIT 2

-- name: top_of_count
SELECT g, count(*) AS c FROM a GROUP BY g ORDER BY c DESC, g LIMIT 2

-- name: top_of_join
SELECT a.k, b.k AS bk FROM a JOIN b ON a.g = b.g ORDER BY a.k DESC, b.k LIMIT 3

-- name: count_of_top
SELECT count(*) AS c, sum(n) AS s FROM (SELECT n FROM a ORDER BY k LIMIT 3)

-- name: top_of_top
SELECT k FROM (SELECT k FROM a ORDER BY k LIMIT 4) ORDER BY k LIMIT 2 OFFSET 1

-- name: offset_of_top
SELECT k FROM (SELECT k FROM a ORDER BY k LIMIT 3) ORDER BY k OFFSET 2

-- name: top_of_offset
SELECT k FROM (SELECT k FROM a ORDER BY k OFFSET 1) ORDER BY k LIMIT 2 OFFSET 1

-- name: top_reversed
SELECT k FROM (SELECT k FROM a ORDER BY k LIMIT 4) ORDER BY k DESC LIMIT 2

-- name: top_joined
SELECT t.k, b.n FROM (SELECT k FROM a ORDER BY k DESC LIMIT 2) t LEFT JOIN b ON b.k = t.k

-- name: top_stream
SELECT DISTINCT k, n FROM e ORDER BY n DESC, k LIMIT 3

-- name: top_starred
SELECT *, n * 2 AS m FROM c JOIN (SELECT g AS gg, n FROM b) AS d ON d.gg = c.g ORDER BY n * 2 DESC NULLS LAST, h, gg LIMIT 1

-- name: top_qualified
SELECT t.k AS id, u.k AS k FROM a t JOIN b u ON t.g = u.g ORDER BY t.k DESC, u.k LIMIT 2

-- name: top_alias_first
SELECT k, -n AS n FROM a ORDER BY n + 0 DESC NULLS LAST, k LIMIT 2
-- duckdb:
SELECT k, -n AS n FROM a ORDER BY (-a.n) + 0 DESC NULLS LAST, k LIMIT 2
