-- Notes that $4 has told all of cluster $2 in pool $1 on timeline $3, if the server is still on it, while
-- the status of the Pool with the UID $5 showed the token $6: there is no doubt then.
UPDATE kwicket.members SET timeline = $3, pool_uid = $5, shown = $6, doubt = 0
WHERE pool = $1 AND cluster = $2 AND teller = $4 AND kwicket.timeline() = $3
RETURNING pg_notify('kwicket', $1);
