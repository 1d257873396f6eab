-- Deletes at most $2 grants that ended over $1 seconds ago; how many.
WITH deleted AS (
    DELETE FROM kwicket.grants WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM kwicket.grants
        WHERE ended < statement_timestamp() - make_interval(secs => $1)
        ORDER BY ended LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING pool, change
), last AS (
    SELECT pool, max(change) AS change, count(*) AS rows FROM deleted GROUP BY pool
), noted AS (
    UPDATE kwicket.feeds SET pruned = greatest(pruned, last.change) FROM last
    WHERE feeds.pool = last.pool
)
SELECT coalesce(sum(rows), 0)::bigint AS rows FROM last;
