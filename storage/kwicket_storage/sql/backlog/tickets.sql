-- What other clusters than $2 told of the line of pool $1 after change $3; all that waits if it is 0.
SELECT cluster, uid, job, tenant, lane, traits::text, width, submitted, held, deliveries,
    gone IS NOT NULL AS gone
FROM kwicket.tickets
WHERE pool = $1 AND cluster <> $2 AND change > $3 AND (gone IS NULL OR $3 > 0);
