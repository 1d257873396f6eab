-- The pools of which cluster $1 is a member, or one of another name that is known by $2: what the name is
-- known by, who tells of it, its last sign of life, and the highest token that anybody there knows of.
SELECT pool, cluster, identity, teller, extract(epoch FROM alive)::text AS alive,
    coalesce(highest, 0) AS highest
FROM kwicket.members LEFT JOIN kwicket.feeds USING (pool)
WHERE cluster = $1 OR identity = $2 ORDER BY pool, cluster;
