-- Makes the first page of pool $1 with the state $2, and writes down the grants $3 that are in it (those
-- of cluster $4 as claimed); no row if there is a page.
WITH page AS (
    INSERT INTO kwicket.pools (name, state) VALUES ($1, $2::json)
    ON CONFLICT (name) DO NOTHING
    RETURNING stamp
), granted AS (
    INSERT INTO kwicket.grants
        (pool, token, cluster, job, uid, tenant, lane, width, charge, claimed)
    SELECT $1, new.token, new.cluster, new.job, new.uid, new.tenant, new.lane, new.width, new.charge,
        CASE WHEN new.cluster = $4 THEN clock_timestamp() END
    FROM page, json_to_recordset($3::json) AS new (
        token bigint, cluster text, job text, uid text, tenant text, lane text, width integer,
        charge numeric
    )
    ON CONFLICT (pool, token, cluster) DO NOTHING
)
SELECT stamp || '@' || kwicket.timeline() AS stamp, kwicket.now_ms() AS now FROM page;
