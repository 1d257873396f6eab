-- Notes that $4 has told all of cluster $2 in pool $1 on timeline $3, if the server is still on it.
UPDATE kwicket.members SET timeline = $3
WHERE pool = $1 AND cluster = $2 AND teller = $4 AND kwicket.timeline() = $3
RETURNING pg_notify('kwicket', $1);
