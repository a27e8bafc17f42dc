-- name: in
SELECT k FROM a WHERE n IN (SELECT n FROM b)

-- name: in_filtered
SELECT k FROM a WHERE g IN (SELECT g FROM b WHERE n > 0)

-- name: in_or
SELECT k FROM a WHERE n IN (SELECT n FROM b) OR k < 2

-- name: in_grouped
SELECT k FROM a WHERE g IN (SELECT g FROM b GROUP BY g HAVING count(*) > 1)

-- name: not_in
SELECT k FROM a WHERE n NOT IN (SELECT n FROM b)

-- name: not_in_kept
SELECT k FROM a WHERE n NOT IN (SELECT n FROM b WHERE n IS NOT NULL)

-- name: exists
SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.g = a.g AND b.n > a.n)

-- name: not_exists
SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)

-- name: not_exists_residual
SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.g = a.g AND b.n > a.n)

-- name: exists_or
SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) OR n = 0

-- name: exists_any
SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE n = 2)

-- name: not_exists_any
SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE n = 2)

-- name: scalar
SELECT k, n, (SELECT max(n) FROM b) AS hi FROM a

-- name: scalar_where
SELECT k FROM a WHERE n > (SELECT avg(n) FROM a)

-- name: scalar_twice
SELECT k FROM a WHERE n BETWEEN (SELECT min(n) FROM b) AND (SELECT max(n) FROM b)

-- name: scalar_nothing
SELECT k, (SELECT sum(n) FROM b WHERE k > 100) AS s FROM a

-- name: scalar_having
SELECT g, count(*) AS c FROM a GROUP BY g HAVING count(*) >= (SELECT count(*) FROM b WHERE n = 1)

-- name: correlated_scalar
SELECT k, (SELECT max(b.n) FROM b WHERE b.g = a.g) AS hi FROM a

-- name: correlated_count
SELECT k, (SELECT count(*) FROM b WHERE b.g = a.g) AS c FROM a

-- name: correlated_where
SELECT k FROM a WHERE n > (SELECT avg(o.n) FROM a o WHERE o.g = a.g)

-- name: correlated_in
SELECT k FROM a WHERE n IN (SELECT b.n FROM b WHERE b.g = a.g)

-- name: correlated_not_in
SELECT k FROM a WHERE n NOT IN (SELECT b.n FROM b WHERE b.g = a.g)

-- name: exists_stream
SELECT k FROM a WHERE EXISTS (SELECT 1 FROM e WHERE e.k = a.k AND e.n > 0)

-- name: stream_in
SELECT k, n FROM e WHERE k IN (SELECT k FROM a WHERE n > 0)

-- name: scalar_stream
SELECT k, n FROM e WHERE n >= (SELECT max(n) FROM a)

-- name: case_exists
SELECT k, CASE WHEN EXISTS (SELECT 1 FROM b WHERE b.k = a.k) THEN 'both' ELSE 'one' END AS v FROM a

-- name: not_exists_or
SELECT k FROM a WHERE n > 1 OR NOT EXISTS (SELECT 1 FROM b WHERE b.g = a.g AND b.n > a.n)

-- name: exists_first
SELECT k FROM a WHERE EXISTS (SELECT DISTINCT n FROM b WHERE b.g = a.g ORDER BY n LIMIT 1)

-- name: correlated_in_shown
SELECT k, coalesce(n IN (SELECT b.n FROM b WHERE b.g = a.g), false) AS v FROM a

-- name: correlated_not_in_or
SELECT k FROM a WHERE k = 1 OR n NOT IN (SELECT b.n FROM b WHERE b.g = a.g)

-- name: correlated_by_key
SELECT k, (SELECT b.n FROM b WHERE b.k = a.n) AS v FROM a

-- name: correlated_of_join
SELECT a.k FROM a JOIN b ON a.k = b.k WHERE a.n >= (SELECT min(o.n) FROM b o WHERE o.g = b.g)

-- name: by_key
SELECT k, (SELECT n FROM b WHERE k = 1) AS v FROM a

-- name: correlated_grouped
-- refused: a subquery that speaks of the rows outside it, in a grouped query, is not supported yet
SELECT g, (SELECT max(b.n) FROM b WHERE b.g = a.g) AS hi FROM a GROUP BY g

-- name: correlated_unequal
-- refused: a subquery that stands for one value can only be equal to the rows outside it
SELECT k, (SELECT max(b.n) FROM b WHERE b.n < a.n) AS hi FROM a
