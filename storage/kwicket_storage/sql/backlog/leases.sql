-- What other clusters than $2 told of the slots of pool $1 after change $3; all taken ones if it is 0.
SELECT cluster, uid, job, tenant, lane, width, token,
    (extract(epoch FROM ended) * 1000)::bigint AS ended
FROM kwicket.grants
WHERE pool = $1 AND cluster <> $2 AND change > 0 AND change > $3
    AND started IS NOT NULL AND (ended IS NULL OR $3 > 0);
