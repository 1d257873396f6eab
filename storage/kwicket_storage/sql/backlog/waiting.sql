-- The tickets of cluster $2 in the line of pool $1.
SELECT uid, job, tenant, lane, traits::text, width, submitted, held, deliveries
FROM kwicket.tickets WHERE pool = $1 AND cluster = $2 AND gone IS NULL;
