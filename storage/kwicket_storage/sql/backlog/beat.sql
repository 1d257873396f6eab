-- A sign of life of cluster $2 in pool $1 by the rules $3, and whether the server has all that the
-- cluster told. It goes on from the last one if that is at most $5 seconds old. The status of the Pool
-- with the UID $6 was seen to show the token $7. No row if not $4 tells of the cluster.
UPDATE kwicket.members SET
    seen = clock_timestamp(), rules = $3, alive = clock_timestamp(),
    since = CASE
        WHEN alive BETWEEN clock_timestamp() - make_interval(secs => $5) AND clock_timestamp()
        THEN since ELSE clock_timestamp()
    END,
    shown = CASE WHEN pool_uid = $6 THEN greatest(shown, $7) ELSE shown END
WHERE pool = $1 AND cluster = $2 AND teller = $4
RETURNING timeline = kwicket.timeline() AS told, kwicket.now_ms() AS now;
