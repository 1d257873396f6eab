-- Deletes at most $2 tickets that left a line over $1 seconds ago; how many.
WITH deleted AS (
    DELETE FROM kwicket.tickets WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM kwicket.tickets
        WHERE gone < statement_timestamp() - make_interval(secs => $1)
        ORDER BY gone LIMIT $2 FOR UPDATE SKIP LOCKED
    ))
    RETURNING pool, change
), last AS (
    SELECT pool, max(change) AS change, count(*) AS rows FROM deleted GROUP BY pool
), noted AS (
    UPDATE kwicket.feeds SET pruned = greatest(pruned, last.change) FROM last
    WHERE feeds.pool = last.pool
)
SELECT coalesce(sum(rows), 0)::bigint AS rows FROM last;
