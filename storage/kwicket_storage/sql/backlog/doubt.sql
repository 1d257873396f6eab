-- Notes that cluster $2, known by $3, went back to a backup in pool $1, while tokens up to $4 were known.
UPDATE kwicket.members SET doubt = greatest(doubt, $4)
WHERE pool = $1 AND cluster = $2 AND identity = $3
RETURNING kwicket.now_ms() AS now;
