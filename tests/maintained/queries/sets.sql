-- name: distinct
SELECT DISTINCT g, n FROM a

-- name: distinct_double
SELECT DISTINCT x FROM a

-- name: distinct_wild
SELECT DISTINCT y FROM b

-- name: distinct_stream
SELECT DISTINCT g, n FROM e

-- name: distinct_joined
SELECT DISTINCT a.g, b.n FROM a LEFT JOIN b ON a.g = b.g

-- name: union_all
SELECT g, n FROM a UNION ALL SELECT g, n FROM b

-- name: union
SELECT g, n FROM a UNION SELECT g, n FROM b

-- name: union_same
SELECT g FROM a UNION ALL SELECT g FROM a

-- name: union_stream
SELECT k, g, n FROM e UNION ALL SELECT k, g, n FROM a

-- name: union_doubles
SELECT x FROM a UNION SELECT y FROM b

-- name: intersect
SELECT g, n FROM a INTERSECT SELECT g, n FROM b

-- name: intersect_all
SELECT g FROM a INTERSECT ALL SELECT g FROM b

-- name: except
SELECT g, n FROM a EXCEPT SELECT g, n FROM b

-- name: except_all
SELECT g FROM a EXCEPT ALL SELECT g FROM b

-- name: except_stream
SELECT k FROM a EXCEPT SELECT k FROM e

-- name: except_all_stream
SELECT n FROM e EXCEPT ALL SELECT n FROM a

-- name: intersect_doubles
SELECT x FROM a INTERSECT SELECT y FROM b

-- name: nested_sets
SELECT g FROM a UNION SELECT g FROM b EXCEPT SELECT g FROM c
-- duckdb:
(SELECT g FROM a UNION SELECT g FROM b) EXCEPT SELECT g FROM c

-- name: count_union
SELECT g, count(*) AS c FROM (SELECT g, n FROM a UNION ALL SELECT g, n FROM b) GROUP BY g
