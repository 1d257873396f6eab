-- major 1: the ledger of pools, what waits and runs in every cluster, and the workers' fence.

CREATE TABLE kwicket.pools (
    name text PRIMARY KEY CHECK (name <> ''),
    stamp uuid NOT NULL DEFAULT gen_random_uuid(),
    state json NOT NULL,
    written timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- To compress a state costs more than to write it, and so does a column that is read out of it.
ALTER TABLE kwicket.pools ALTER state SET STORAGE EXTERNAL;
COMMENT ON TABLE kwicket.pools IS
    'One page a pool: the turn, the tokens, the grants that no cluster has acknowledged yet.';
COMMENT ON COLUMN kwicket.pools.stamp IS
    'Another one with each write, never one that was: what a compare-and-swap compares.';

CREATE TABLE kwicket.members (
    pool text NOT NULL,
    cluster text NOT NULL CHECK (cluster <> '' AND cluster !~ '/'),
    identity text NOT NULL,
    teller text NOT NULL,
    timeline text NOT NULL DEFAULT '',
    rules text NOT NULL DEFAULT '',
    seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    alive timestamptz NOT NULL DEFAULT clock_timestamp(),
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    pool_uid text NOT NULL DEFAULT '',
    shown bigint NOT NULL DEFAULT 0,
    doubt bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (pool, cluster)
);
COMMENT ON TABLE kwicket.members IS 'The clusters that share a pool, and their last sign of life.';
COMMENT ON COLUMN kwicket.members.identity IS
    'What tells two clusters of one name apart: the UID of the namespace kube-system.';
COMMENT ON COLUMN kwicket.members.teller IS
    'The process that tells of the cluster: what a former one still tells is not taken.
    Empty: the cluster has moved away, and what still runs there keeps its slots.';
COMMENT ON COLUMN kwicket.members.timeline IS
    'The timeline of the server on which the cluster has told all that waits and runs in it.';
COMMENT ON COLUMN kwicket.members.rules IS
    'A digest of the priority, fairness and Limits as declared there; empty if the Pool is deleted.';
COMMENT ON COLUMN kwicket.members.seen IS 'When it last took part.';
COMMENT ON COLUMN kwicket.members.alive IS
    'When its operator last gave a sign of life, though it may have taken no part.';
COMMENT ON COLUMN kwicket.members.since IS
    'The first of the signs of life that came one after the other up to then.';
COMMENT ON COLUMN kwicket.members.pool_uid IS 'The UID of the Pool in the cluster.';
COMMENT ON COLUMN kwicket.members.shown IS
    'The token that its status was last seen to show: if it shows less, the cluster was restored.';
COMMENT ON COLUMN kwicket.members.doubt IS
    'The highest token known when the cluster was found to be restored from an older backup, until an
    administrator''s word lets it go on; 0 if it was not.';

CREATE TABLE kwicket.feeds (
    pool text PRIMARY KEY,
    change bigint NOT NULL,
    highest bigint NOT NULL DEFAULT 0,
    pruned bigint NOT NULL DEFAULT 0
);
COMMENT ON TABLE kwicket.feeds IS
    'The number of the last change of a pool''s tickets and grants that a cluster has told.';
COMMENT ON COLUMN kwicket.feeds.highest IS 'The highest token that any cluster knows of.';
COMMENT ON COLUMN kwicket.feeds.pruned IS
    'Tickets that left the line up to this change may be missing: who knows less reads all.';

CREATE TABLE kwicket.tickets (
    pool text NOT NULL,
    cluster text NOT NULL,
    uid text NOT NULL,
    job text NOT NULL,
    tenant text NOT NULL,
    lane text NOT NULL,
    traits jsonb NOT NULL,
    width integer NOT NULL CHECK (width >= 0),
    submitted bigint NOT NULL,
    held boolean NOT NULL,
    deliveries integer NOT NULL CHECK (deliveries >= 0),
    change bigint NOT NULL,
    gone timestamptz,
    PRIMARY KEY (pool, cluster, uid)
);
COMMENT ON TABLE kwicket.tickets IS 'The Jobs that wait, as their clusters have told them.';
COMMENT ON COLUMN kwicket.tickets.submitted IS 'Milliseconds since 1970, by its API server''s clock.';

CREATE INDEX tickets_by_change ON kwicket.tickets (pool, change);
CREATE INDEX tickets_that_wait ON kwicket.tickets (pool, cluster) WHERE gone IS NULL;
CREATE INDEX tickets_that_left ON kwicket.tickets (gone) WHERE gone IS NOT NULL;

CREATE TABLE kwicket.grants (
    pool text NOT NULL,
    token bigint NOT NULL CHECK (token > 0),
    cluster text NOT NULL,
    job text NOT NULL,
    uid text NOT NULL,
    tenant text NOT NULL,
    lane text NOT NULL,
    width integer NOT NULL CHECK (width >= 0),
    charge numeric NOT NULL DEFAULT 0 CHECK (charge >= 0),
    granted timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed timestamptz,
    started timestamptz,
    ended timestamptz,
    outcome text CHECK (outcome IN ('Ended', 'GivenBack', 'Lapsed')),
    change bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (pool, token, cluster),
    CHECK ((ended IS NULL) = (outcome IS NULL))
);
COMMENT ON TABLE kwicket.grants IS
    'Every grant of every pool, from its decision to its end. Clusters that had ledgers of their own
    before may have the same token for what they granted then.';
COMMENT ON COLUMN kwicket.grants.claimed IS
    'When the operator of its cluster took it up: from then on it may have reached its Job.';
COMMENT ON COLUMN kwicket.grants.started IS
    'When it was seen on its Job: from then to its end it holds a slot.';
COMMENT ON COLUMN kwicket.grants.outcome IS
    'Ended: its slot was freed; GivenBack: it never reached its Job; Lapsed: its cluster was silent.';

CREATE INDEX grants_that_run ON kwicket.grants (pool, cluster)
    WHERE started IS NOT NULL AND ended IS NULL;
CREATE INDEX grants_under_way ON kwicket.grants (pool) WHERE started IS NULL AND ended IS NULL;
CREATE INDEX grants_by_change ON kwicket.grants (pool, change) WHERE change > 0;
CREATE INDEX grants_given_back ON kwicket.grants (pool, cluster, ended)
    WHERE outcome = 'GivenBack' AND claimed IS NULL;
CREATE INDEX grants_that_lapsed ON kwicket.grants (pool, ended) WHERE outcome = 'Lapsed';
CREATE INDEX grants_that_ended ON kwicket.grants (ended) WHERE ended IS NOT NULL;

CREATE VIEW kwicket.shares AS
SELECT pool, tenant, day::date AS day,
    count(*) FILTER (WHERE from_day = day) AS starts,
    sum(width * extract(epoch FROM least(until, day + interval '1 day') - greatest(since, day)))
        AS slot_seconds
FROM kwicket.grants,
    LATERAL (SELECT started AT TIME ZONE 'UTC' AS since,
        coalesce(ended, clock_timestamp()) AT TIME ZONE 'UTC' AS until) AS run,
    LATERAL (SELECT date_trunc('day', since) AS from_day) AS first,
    generate_series(from_day, greatest(since, until - interval '1 microsecond'), interval '1 day')
        AS day
WHERE started IS NOT NULL
GROUP BY pool, tenant, day;
COMMENT ON VIEW kwicket.shares IS
    'What each tenant had of a pool on each day by UTC: starts, and the slots of its Jobs times seconds.';

CREATE TABLE kwicket.fences (
    resource text PRIMARY KEY,
    highest bigint NOT NULL CHECK (highest > 0)
);
COMMENT ON TABLE kwicket.fences IS 'The highest token that each resource of the workers has seen.';

CREATE FUNCTION kwicket.timeline() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
$$;
COMMENT ON FUNCTION kwicket.timeline IS
    'Another one after each failover: what was committed last may be lost then.';

CREATE FUNCTION kwicket.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;
COMMENT ON FUNCTION kwicket.now_ms IS 'Milliseconds since 1970, by the one clock of all clusters.';

CREATE FUNCTION kwicket.fence(resource text, token bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seen bigint;
BEGIN
    -- Locks the row to the end of the transaction, also where it changes nothing.
    INSERT INTO kwicket.fences AS known (resource, highest) VALUES (fence.resource, fence.token)
        ON CONFLICT ON CONSTRAINT fences_pkey
        DO UPDATE SET highest = greatest(known.highest, excluded.highest)
        RETURNING known.highest INTO seen;
    IF token < seen THEN
        RAISE EXCEPTION 'token % is too old for %: % was here', token, resource, seen
            USING ERRCODE = 'KW001', HINT = 'Stop, and do not try again: this start of the Job '
                'has lost its lease, and a later one does the work.';
    END IF;
END;
$$;
COMMENT ON FUNCTION kwicket.fence IS
    'First in the worker''s own transaction: refuses a token lower than one that was seen.';

REVOKE ALL ON FUNCTION kwicket.fence, kwicket.timeline, kwicket.now_ms FROM PUBLIC;
GRANT USAGE ON SCHEMA kwicket TO kwicket_operator, kwicket_worker;
GRANT SELECT, INSERT, UPDATE ON kwicket.pools TO kwicket_operator;
GRANT SELECT, INSERT, UPDATE ON kwicket.feeds TO kwicket_operator;
GRANT SELECT, INSERT, UPDATE, DELETE ON kwicket.members, kwicket.tickets, kwicket.grants
    TO kwicket_operator;
GRANT SELECT ON kwicket.migrations, kwicket.shares TO kwicket_operator;
GRANT EXECUTE ON FUNCTION kwicket.timeline, kwicket.now_ms TO kwicket_operator;
GRANT EXECUTE ON FUNCTION kwicket.fence TO kwicket_worker;
