-- Makes the first page of pool $1 with the state $2, and writes down the grants that are in it ($3 to
-- $10, those of cluster $11 as claimed); no row if there is a page.
WITH page AS (
    INSERT INTO kwicket.pools (name, state) VALUES ($1, $2::json)
    ON CONFLICT (name) DO NOTHING
    RETURNING stamp
), granted AS (
    INSERT INTO kwicket.grants
        (pool, token, cluster, job, uid, tenant, lane, width, charge, claimed)
    SELECT $1, new.token, new.cluster, new.job, new.uid, new.tenant, new.lane, new.width, new.charge,
        CASE WHEN new.cluster = $11 THEN clock_timestamp() END
    FROM page, unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::integer[], $10::numeric[])
        AS new (token, cluster, job, uid, tenant, lane, width, charge)
    ON CONFLICT (pool, token, cluster) DO NOTHING
)
SELECT stamp || '@' || kwicket.timeline() AS stamp, kwicket.now_ms() AS now FROM page;
