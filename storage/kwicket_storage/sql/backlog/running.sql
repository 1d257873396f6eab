-- The grants of cluster $2 that hold a slot of pool $1.
SELECT uid, job, tenant, lane, width, token
FROM kwicket.grants WHERE pool = $1 AND cluster = $2 AND started IS NOT NULL AND ended IS NULL;
