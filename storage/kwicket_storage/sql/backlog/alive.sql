-- A sign of life of cluster $2, known by $3, in pool $1, of which nobody may tell at the moment. It goes
-- on from the last one if that is at most $4 seconds old.
UPDATE kwicket.members SET
    alive = clock_timestamp(),
    since = CASE
        WHEN alive BETWEEN clock_timestamp() - make_interval(secs => $4) AND clock_timestamp()
        THEN since ELSE clock_timestamp()
    END
WHERE pool = $1 AND cluster = $2 AND identity = $3
RETURNING kwicket.now_ms() AS now;
