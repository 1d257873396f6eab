-- When those of the grants of pool $1 with the tokens $2 that ended did so.
SELECT token, (extract(epoch FROM ended) * 1000)::bigint AS ended
FROM kwicket.grants WHERE pool = $1 AND token = ANY ($2::bigint[]) AND ended IS NOT NULL;
