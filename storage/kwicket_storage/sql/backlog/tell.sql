-- What cluster $2 tells of pool $1: the Jobs that wait ($3 to $11), the UIDs that left the line
-- ($12), the grants that hold a slot, or have freed it and when ($13 to $19; null while they hold it),
-- the highest token it knows of ($20). The row of the feed stays locked to the end, so that numbers are seen in their order. No
-- row if not $21 tells of the cluster.
WITH feed AS (
    INSERT INTO kwicket.feeds (pool, change, highest)
    SELECT pool, 1, $20 FROM kwicket.members WHERE pool = $1 AND cluster = $2 AND teller = $21
    ON CONFLICT (pool) DO UPDATE
        SET change = feeds.change + 1, highest = greatest(feeds.highest, excluded.highest)
    RETURNING change
), waiting AS (
    INSERT INTO kwicket.tickets AS known (pool, cluster, uid, job, tenant, lane, traits, width,
        submitted, held, deliveries, change)
    SELECT $1, $2, new.uid, new.job, new.tenant, new.lane, new.traits::jsonb, new.width,
        new.submitted, new.held, new.deliveries, feed.change
    FROM feed, unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::integer[],
        $9::bigint[], $10::boolean[], $11::integer[])
        AS new (uid, job, tenant, lane, traits, width, submitted, held, deliveries)
    ON CONFLICT (pool, cluster, uid) DO UPDATE SET
        job = excluded.job, tenant = excluded.tenant, lane = excluded.lane,
        traits = excluded.traits, width = excluded.width, submitted = excluded.submitted,
        held = excluded.held, deliveries = excluded.deliveries, change = excluded.change,
        gone = NULL
), departed AS (
    UPDATE kwicket.tickets SET gone = clock_timestamp(), change = feed.change
    FROM feed
    WHERE pool = $1 AND cluster = $2 AND uid = ANY ($12::text[]) AND gone IS NULL
), leased AS (
    INSERT INTO kwicket.grants AS known (pool, token, cluster, job, uid, tenant, lane, width,
        claimed, started, ended, outcome, change)
    SELECT $1, new.token, $2, new.job, new.uid, new.tenant, new.lane, new.width,
        clock_timestamp(), least(clock_timestamp(), ended),
        CASE WHEN ended IS NOT NULL THEN least(clock_timestamp(), ended) END,
        CASE WHEN ended IS NOT NULL THEN 'Ended' END,
        feed.change
    FROM feed, unnest($13::bigint[], $14::text[], $15::text[], $16::text[], $17::text[],
        $18::integer[], $19::bigint[])
        AS new (token, job, uid, tenant, lane, width, over),
        LATERAL to_timestamp(new.over / 1000.0) AS ended
    ON CONFLICT (pool, token, cluster) DO UPDATE SET
        claimed = coalesce(known.claimed, excluded.claimed),
        started = coalesce(known.started,
            CASE WHEN excluded.ended IS NOT NULL THEN least(known.claimed, excluded.ended) END,
            excluded.started),
        ended = CASE WHEN excluded.ended IS NOT NULL
            THEN coalesce(known.ended, greatest(known.started, excluded.ended)) END,
        outcome = CASE WHEN excluded.ended IS NOT NULL
            THEN coalesce(known.outcome, excluded.outcome) END,
        tenant = excluded.tenant, lane = excluded.lane, width = excluded.width,
        change = excluded.change
    WHERE known.uid = excluded.uid
)
SELECT change, kwicket.now_ms() AS now, pg_notify('kwicket', $1) FROM feed;
