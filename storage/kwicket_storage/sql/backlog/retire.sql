-- Cluster $2, of which $3 tells, moves away from pool $1: its Jobs wait there no longer. What it took up
-- may run, and holds a slot from now on, if it did not before. It stays a member, of which nobody tells,
-- as long as anything of it holds one, or if it has not told all, so that more may run. How much holds a
-- slot, and whether it has told all; no row if not $3 tells of it.
WITH member AS (
    SELECT CASE
        WHEN timeline = kwicket.timeline() OR teller = '' THEN timeline ELSE ''
    END AS told
    FROM kwicket.members WHERE pool = $1 AND cluster = $2 AND teller = $3
    FOR UPDATE
), feed AS (
    INSERT INTO kwicket.feeds (pool, change) SELECT $1, 1 FROM member
    ON CONFLICT (pool) DO UPDATE SET change = feeds.change + 1
    RETURNING change
), departed AS (
    UPDATE kwicket.tickets SET gone = clock_timestamp(), change = feed.change
    FROM feed WHERE pool = $1 AND cluster = $2 AND gone IS NULL
), taken AS (
    UPDATE kwicket.grants SET started = claimed, change = feed.change
    FROM feed
    WHERE pool = $1 AND cluster = $2 AND claimed IS NOT NULL AND started IS NULL AND ended IS NULL
    RETURNING token
), held AS (
    SELECT (SELECT count(*) FROM taken) + count(*) AS slots
    FROM kwicket.grants
    WHERE pool = $1 AND cluster = $2 AND started IS NOT NULL AND ended IS NULL
), kept AS (
    UPDATE kwicket.members SET teller = '', rules = '', timeline = member.told
    FROM member, held
    WHERE pool = $1 AND cluster = $2 AND NOT (held.slots = 0 AND member.told <> '')
), gone AS (
    DELETE FROM kwicket.members
    USING member, held
    WHERE pool = $1 AND cluster = $2 AND held.slots = 0 AND member.told <> ''
)
SELECT pg_notify('kwicket', $1), held.slots AS running, member.told <> '' AS told
FROM member, held, feed;
