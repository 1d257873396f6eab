-- The clusters that share pool $1: how many seconds ago each was seen, how long it was missing while
-- another one gave signs of life, the last one within $3 seconds, by which rules it goes, and whether
-- it has claimed all grants that others gave it and took back within the last $2 seconds. One that has
-- moved away is not missing.
SELECT cluster, rules, extract(epoch FROM clock_timestamp() - seen)::float8 AS silence,
    coalesce(extract(epoch FROM (
        SELECT least(clock_timestamp() - member.alive, max(clock_timestamp() - witness.since))
        FROM kwicket.members AS witness
        WHERE witness.pool = $1 AND witness.cluster <> member.cluster
            AND witness.alive > statement_timestamp() - make_interval(secs => $3)
            AND member.teller <> ''
        HAVING count(*) > 0
    )), 0)::float8 AS missing,
    NOT EXISTS (
        SELECT FROM kwicket.grants AS late
        WHERE late.pool = $1 AND late.cluster = member.cluster AND late.outcome = 'GivenBack'
            AND late.claimed IS NULL
            AND late.ended > statement_timestamp() - make_interval(secs => $2)
    ) AS takes_up
FROM kwicket.members AS member WHERE pool = $1 ORDER BY cluster;
