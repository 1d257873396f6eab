-- The pools that cluster $1, known by $2, shares.
SELECT pool FROM kwicket.members WHERE cluster = $1 AND identity = $2 ORDER BY pool;
