-- Replaces the page of pool $1 by the state $3 if its stamp is still $2. Writes down the grants $4 that
-- are new in it (those of cluster $5 as claimed) and the end of those that left it ($6) without having
-- started. Wakes the others if $7. No row if somebody else wrote the page, if the server is another one
-- than that on which it was read, or if not $8 tells of the cluster. Its commit waits for the disk: a
-- crash of the server leaves the timeline as it is, and must not lose what it has called committed.
WITH page AS (
    UPDATE kwicket.pools
    SET state = $3::json, stamp = gen_random_uuid(), written = clock_timestamp()
    WHERE name = $1 AND stamp || '@' || kwicket.timeline() = $2
        AND ($8::text IS NULL OR EXISTS (
            SELECT FROM kwicket.members WHERE pool = $1 AND cluster = $5 AND teller = $8
        ))
    RETURNING stamp
), granted AS (
    INSERT INTO kwicket.grants
        (pool, token, cluster, job, uid, tenant, lane, width, charge, claimed)
    SELECT $1, new.token, new.cluster, new.job, new.uid, new.tenant, new.lane, new.width, new.charge,
        CASE WHEN new.cluster = $5 THEN clock_timestamp() END
    FROM page, json_to_recordset($4::json) AS new (
        token bigint, cluster text, job text, uid text, tenant text, lane text, width integer,
        charge numeric
    )
), returned AS (
    UPDATE kwicket.grants SET ended = clock_timestamp(), outcome = 'GivenBack'
    FROM page
    WHERE pool = $1 AND token = ANY ($6::bigint[]) AND started IS NULL AND ended IS NULL
)
SELECT stamp || '@' || kwicket.timeline() AS stamp, kwicket.now_ms() AS now,
    CASE WHEN $7 THEN pg_notify('kwicket', $1) END,
    CASE WHEN current_setting('synchronous_commit') = 'off'
        THEN set_config('synchronous_commit', 'local', true) END
FROM page;
