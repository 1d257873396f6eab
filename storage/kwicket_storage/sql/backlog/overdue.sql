-- The tokens of grants of pool $1 that other clusters than $2 have not claimed within $3 seconds, that
-- are those of clusters that share the pool no longer, or that lapsed with their cluster of late: the
-- page may have them still. Each half has an index of its own.
SELECT token FROM kwicket.grants AS granted
WHERE pool = $1 AND cluster <> $2 AND started IS NULL AND ended IS NULL AND (
    (claimed IS NULL AND granted.granted < statement_timestamp() - make_interval(secs => $3))
    OR NOT EXISTS (
        SELECT FROM kwicket.members AS member
        WHERE member.pool = granted.pool AND member.cluster = granted.cluster
    )
)
UNION ALL
SELECT token FROM kwicket.grants
WHERE pool = $1 AND cluster <> $2 AND outcome = 'Lapsed'
    AND ended > statement_timestamp() - interval '1 day'
ORDER BY token;
