-- The major version of the schema; the newest page of pool $1, if there is one, and the members other
-- than $2 that have not told what runs there since they began, or since the server took over from
-- another one. One that had told all and moved away then starts nothing here any more, so that nobody
-- waits for it.
SELECT (SELECT max(major) FROM kwicket.migrations) AS major,
    stamp || '@' || kwicket.timeline() AS stamp, state::text, kwicket.now_ms() AS now,
    ARRAY(
        SELECT cluster FROM kwicket.members
        WHERE pool = $1 AND cluster <> $2 AND timeline <> kwicket.timeline()
            AND NOT (teller = '' AND timeline <> '')
        ORDER BY cluster
    ) AS missing
FROM (VALUES ($1::text)) AS asked (pool) LEFT JOIN kwicket.pools ON name = asked.pool;
