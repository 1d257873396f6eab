-- How far the changes of pool $1 are, and on which timeline of the server they are numbered.
SELECT coalesce(change, 0) AS change, coalesce(highest, 0) AS highest,
    coalesce(pruned, 0) AS pruned, timeline, kwicket.now_ms() AS now
FROM kwicket.timeline() AS timeline LEFT JOIN kwicket.feeds ON pool = $1;
