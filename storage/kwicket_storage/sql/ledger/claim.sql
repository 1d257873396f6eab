-- Takes up the grants $3 of cluster $4 in pool $1 that were not given back, and has the page's stamp be
-- another one: who gives one back has seen that it was not claimed. The lock of the page orders the
-- two, so no claim is refused because of what others write. Whether the page's stamp was $2 until now,
-- and which grants are claimed; no row if there is no page.
WITH before AS MATERIALIZED (
    SELECT stamp AS former FROM kwicket.pools WHERE name = $1 FOR UPDATE
), page AS (
    UPDATE kwicket.pools SET stamp = gen_random_uuid() FROM before WHERE name = $1
    RETURNING stamp, former
), claimed AS (
    UPDATE kwicket.grants SET claimed = coalesce(claimed, clock_timestamp())
    FROM page
    WHERE pool = $1 AND token = ANY ($3::bigint[]) AND cluster = $4 AND ended IS NULL
    RETURNING token
)
SELECT stamp || '@' || timeline AS stamp, former || '@' || timeline = $2 AS newest,
    ARRAY(SELECT token FROM claimed ORDER BY token) AS tokens, kwicket.now_ms() AS now
FROM page, kwicket.timeline() AS timeline;
