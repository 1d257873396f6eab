-- Forgets cluster $2 in pool $1 if it was silent for $3 seconds: it shares the pool no longer, its
-- Jobs wait no longer, and its slots are free. Only if another one gave signs of life all that time,
-- the last one within $4 seconds: else it may have been the server that was away, or another clock. One
-- that has moved away gives none, and needs no witness: only if $5.
WITH member AS (
    DELETE FROM kwicket.members
    WHERE pool = $1 AND cluster = $2 AND alive <= statement_timestamp() - make_interval(secs => $3)
        AND CASE WHEN teller = '' THEN $5 ELSE EXISTS (
            SELECT FROM kwicket.members AS witness
            WHERE witness.pool = $1 AND witness.cluster <> $2
                AND witness.since <= statement_timestamp() - make_interval(secs => $3)
                AND witness.alive > statement_timestamp() - make_interval(secs => $4)
        ) END
    RETURNING pool
), feed AS (
    INSERT INTO kwicket.feeds (pool, change) SELECT pool, 1 FROM member
    ON CONFLICT (pool) DO UPDATE SET change = feeds.change + 1
    RETURNING change
), departed AS (
    UPDATE kwicket.tickets SET gone = clock_timestamp(), change = feed.change
    FROM feed WHERE pool = $1 AND cluster = $2 AND gone IS NULL
), lapsed AS (
    UPDATE kwicket.grants
    SET ended = clock_timestamp(), outcome = 'Lapsed', change = feed.change
    FROM feed WHERE pool = $1 AND cluster = $2 AND started IS NOT NULL AND ended IS NULL
)
SELECT change, pg_notify('kwicket', $1) FROM feed;
