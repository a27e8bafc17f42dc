-- name: inner
SELECT a.k, a.g, b.n, b.y FROM a JOIN b ON a.k = b.k

-- name: left
SELECT a.k, a.n, b.k AS bk, b.g FROM a LEFT JOIN b ON a.k = b.k

-- name: right
SELECT a.k, a.n, b.k AS bk, b.g FROM a RIGHT JOIN b ON a.n = b.n

-- name: full
SELECT a.k, a.n, b.k AS bk, b.n AS bn FROM a FULL JOIN b ON a.n = b.n

-- name: semi
SELECT a.k, a.g FROM a LEFT SEMI JOIN b ON a.g = b.g

-- name: anti
SELECT a.k, a.g FROM a LEFT ANTI JOIN b ON a.g = b.g

-- name: many_to_many
SELECT a.k, b.k AS bk, a.g FROM a JOIN b ON a.g = b.g

-- name: left_many
SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.g = b.g

-- name: inner_residual
SELECT a.k, b.k AS bk FROM a JOIN b ON a.g = b.g AND a.n < b.n

-- name: left_residual
SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.g = b.g AND a.n < b.n

-- name: right_residual
SELECT a.k, b.k AS bk FROM a RIGHT JOIN b ON a.g = b.g AND a.n <> b.n

-- name: full_residual
SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.g = b.g AND a.n >= b.n

-- name: semi_residual
SELECT a.k FROM a LEFT SEMI JOIN b ON a.g = b.g AND a.n > b.n

-- name: anti_residual
SELECT a.k FROM a LEFT ANTI JOIN b ON a.g = b.g AND a.n > b.n

-- name: full_one_sided
SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.k = b.k AND a.n > 0

-- name: no_equality
SELECT a.k, b.k AS bk FROM a JOIN b ON a.n < b.n

-- name: left_no_equality
SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.n > b.n

-- name: full_no_equality
SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.n > b.n + 1

-- name: expressions
SELECT a.k, b.k AS bk FROM a JOIN b ON a.k % 3 = b.k % 3 AND upper(a.g) = upper(b.g)

-- name: null_safe
SELECT a.k, b.k AS bk FROM a JOIN b ON a.n <=> b.n

-- name: null_safe_full
SELECT a.k, b.k AS bk FROM a FULL JOIN b ON a.g <=> b.g AND a.n = b.n

-- name: null_safe_anti
SELECT a.k FROM a LEFT ANTI JOIN b ON a.n <=> b.n

-- name: double_keys
SELECT a.k, b.k AS bk, a.x, b.y FROM a JOIN b ON a.x = b.y

-- name: double_keys_left
SELECT a.k, b.k AS bk FROM a LEFT JOIN b ON a.x = b.y

-- name: self
SELECT l.k, r.k AS rk FROM a l JOIN a r ON l.g = r.g AND l.k < r.k

-- name: self_left
SELECT l.k, r.k AS rk, r.n FROM a l LEFT JOIN a r ON l.n = r.k

-- name: self_same
SELECT l.k, l.x, r.x AS rx FROM a l JOIN a r ON l.k = r.k

-- name: three
SELECT a.k, b.n, c.label FROM a JOIN b ON a.k = b.k JOIN c ON c.g = a.g

-- name: three_left
SELECT a.k, b.n, c.label FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON c.g = b.g AND c.h = a.n

-- name: three_full
SELECT a.k, b.k AS bk, c.h FROM a FULL JOIN b ON a.k = b.k FULL JOIN c ON c.g = b.g AND c.h = b.n

-- name: using
SELECT k, a.n, b.n AS bn FROM a JOIN b USING (k)

-- name: using_full
SELECT k, a.n, b.n AS bn FROM a FULL JOIN b USING (k)

-- name: comma
SELECT a.k, c.h FROM a, c WHERE a.g = c.g AND a.n < c.w

-- name: cross
SELECT a.k, c.g, c.h FROM a CROSS JOIN c

-- name: cross_total
SELECT a.k, a.n, t.total FROM a CROSS JOIN (SELECT sum(n) AS total, count(*) AS c FROM a) t

-- name: cross_compare
SELECT a.k FROM a CROSS JOIN (SELECT avg(n) AS mean FROM b) t WHERE a.n > t.mean

-- name: where_over_left
SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL OR b.n > 1

-- name: coalesced
SELECT coalesce(a.k, b.k) AS k, coalesce(a.n, b.n, -9) AS n FROM a FULL JOIN b ON a.k = b.k

-- name: join_count
SELECT a.g, count(*) AS c, count(b.k) AS cb, sum(b.n) AS s FROM a LEFT JOIN b ON a.g = b.g GROUP BY a.g

-- name: join_extreme
SELECT b.g, max(a.n) AS hi, min(a.x) AS lo FROM a JOIN b ON a.k = b.k GROUP BY b.g

-- name: count_joined
SELECT b.k, b.g, t.c FROM b LEFT JOIN (SELECT g, count(*) AS c FROM a GROUP BY g) t ON t.g = b.g

-- name: sums_joined
SELECT s.g, s.v, t.v AS tv FROM (SELECT g, sum(n) AS v FROM a GROUP BY g) s FULL JOIN (SELECT g, sum(n) AS v FROM b
  GROUP BY g) t ON s.g = t.g

-- name: filtered_sides
SELECT l.k, r.k AS rk FROM (SELECT * FROM a WHERE n > 0) l JOIN (SELECT * FROM b WHERE y > 0) r ON l.g = r.g

-- name: stream_inner
SELECT e.k, e.n, a.g, a.m FROM e JOIN a ON e.k = a.k

-- name: stream_left
SELECT e.k, e.n, a.g FROM e LEFT JOIN a ON e.k = a.k

-- name: stream_right
SELECT e.n, a.k FROM e RIGHT JOIN a ON e.k = a.k AND e.n > 0

-- name: stream_full
SELECT e.n, e.g, b.k FROM e FULL JOIN b ON e.g = b.g

-- name: stream_semi
SELECT e.k, e.g FROM e LEFT SEMI JOIN a ON e.k = a.k AND a.n > 0

-- name: stream_anti
SELECT a.k FROM a LEFT ANTI JOIN e ON e.k = a.k

-- name: stream_sum
SELECT a.g, sum(e.x) AS s, count(*) AS c FROM e JOIN a ON e.k = a.k GROUP BY a.g

-- name: stream_self
SELECT l.k, l.n, r.n AS rn FROM e l LEFT JOIN e r ON l.k = r.n

-- name: composite_key
SELECT a.k, c.label, c.w FROM a LEFT JOIN c ON a.g = c.g AND a.n = c.h
