-- Replaces the page of pool $1 by the state $3 if its stamp is still $2. Writes down the grants that
-- are new in it ($4 to $11, those of cluster $12 as claimed) and the end of those that left it ($13)
-- without having started. Wakes the others if $14. No row if somebody else wrote the page, if the
-- server is another one than that on which it was read, or if not $15 tells of the cluster.
WITH page AS (
    UPDATE kwicket.pools
    SET state = $3::json, stamp = gen_random_uuid(), written = clock_timestamp()
    WHERE name = $1 AND stamp || '@' || kwicket.timeline() = $2
        AND ($15::text IS NULL OR EXISTS (
            SELECT FROM kwicket.members WHERE pool = $1 AND cluster = $12 AND teller = $15
        ))
    RETURNING stamp
), granted AS (
    INSERT INTO kwicket.grants
        (pool, token, cluster, job, uid, tenant, lane, width, charge, claimed)
    SELECT $1, new.token, new.cluster, new.job, new.uid, new.tenant, new.lane, new.width, new.charge,
        CASE WHEN new.cluster = $12 THEN clock_timestamp() END
    FROM page, unnest($4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
        $10::integer[], $11::numeric[])
        AS new (token, cluster, job, uid, tenant, lane, width, charge)
), returned AS (
    UPDATE kwicket.grants SET ended = clock_timestamp(), outcome = 'GivenBack'
    FROM page
    WHERE pool = $1 AND token = ANY ($13::bigint[]) AND started IS NULL AND ended IS NULL
)
SELECT stamp || '@' || kwicket.timeline() AS stamp, kwicket.now_ms() AS now,
    CASE WHEN $14 THEN pg_notify('kwicket', $1) END
FROM page;
