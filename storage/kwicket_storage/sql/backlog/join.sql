-- Cluster $2, known by $3, takes part in pool $1 by the rules $4, told of by $5 alone from now on.
-- What it told on the timeline of the server stands until it tells all, unless it had moved away: what
-- it started meanwhile nobody was told. Its signs of life go on from the last one if that is at most $6
-- seconds old. When it was seen before, what is remembered of it, and the highest token that anybody
-- knows of; no row if another cluster has this name.
WITH former AS (
    SELECT (extract(epoch FROM seen) * 1000)::bigint AS seen
    FROM kwicket.members WHERE pool = $1 AND cluster = $2
), joined AS (
    INSERT INTO kwicket.members AS known (pool, cluster, identity, rules, teller)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (pool, cluster) DO UPDATE
        SET seen = clock_timestamp(), rules = excluded.rules, teller = excluded.teller,
            alive = clock_timestamp(),
            timeline = CASE WHEN known.teller = '' THEN '' ELSE known.timeline END,
            since = CASE
                WHEN known.alive BETWEEN clock_timestamp() - make_interval(secs => $6)
                    AND clock_timestamp()
                THEN known.since ELSE clock_timestamp()
            END
        WHERE known.identity = excluded.identity
    RETURNING kwicket.timeline() AS timeline, pool_uid, shown, doubt
)
SELECT timeline, now, coalesce(former.seen, now) AS formerly, pool_uid, shown, doubt,
    greatest(shown, (SELECT highest FROM kwicket.feeds WHERE pool = $1),
        (SELECT (state ->> 'version')::bigint FROM kwicket.pools WHERE name = $1)) AS highest
FROM joined CROSS JOIN kwicket.now_ms() AS now LEFT JOIN former ON true;
