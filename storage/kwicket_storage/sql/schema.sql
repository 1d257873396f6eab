-- The schema that the migrations make, for readers; never applied. To write it anew:
-- python -m tests.support.dumps

CREATE SCHEMA kwicket;

ALTER SCHEMA kwicket OWNER TO kwicket_owner;

CREATE FUNCTION kwicket.fence(resource text, token bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

ALTER FUNCTION kwicket.fence(resource text, token bigint) OWNER TO kwicket_owner;

COMMENT ON FUNCTION kwicket.fence(resource text, token bigint) IS 'First in the worker''s own transaction: refuses a token lower than one that was seen.';

CREATE FUNCTION kwicket.now_ms() RETURNS bigint
    LANGUAGE sql
    AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

ALTER FUNCTION kwicket.now_ms() OWNER TO kwicket_owner;

COMMENT ON FUNCTION kwicket.now_ms() IS 'Milliseconds since 1970, by the one clock of all clusters.';

CREATE FUNCTION kwicket.timeline() RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
$$;

ALTER FUNCTION kwicket.timeline() OWNER TO kwicket_owner;

COMMENT ON FUNCTION kwicket.timeline() IS 'Another one after each failover: what was committed last may be lost then.';

CREATE TABLE kwicket.feeds (
    pool text NOT NULL,
    change bigint NOT NULL,
    highest bigint DEFAULT 0 NOT NULL,
    pruned bigint DEFAULT 0 NOT NULL
);

ALTER TABLE kwicket.feeds OWNER TO kwicket_owner;

COMMENT ON TABLE kwicket.feeds IS 'The number of the last change of a pool''s tickets and grants that a cluster has told.';

COMMENT ON COLUMN kwicket.feeds.highest IS 'The highest token that any cluster knows of.';

COMMENT ON COLUMN kwicket.feeds.pruned IS 'Tickets that left the line up to this change may be missing: who knows less reads all.';

CREATE TABLE kwicket.fences (
    resource text NOT NULL,
    highest bigint NOT NULL,
    CONSTRAINT fences_highest_check CHECK ((highest > 0))
);

ALTER TABLE kwicket.fences OWNER TO kwicket_owner;

COMMENT ON TABLE kwicket.fences IS 'The highest token that each resource of the workers has seen.';

CREATE TABLE kwicket.grants (
    pool text NOT NULL,
    token bigint NOT NULL,
    cluster text NOT NULL,
    job text NOT NULL,
    uid text NOT NULL,
    tenant text NOT NULL,
    lane text NOT NULL,
    width integer NOT NULL,
    charge numeric DEFAULT 0 NOT NULL,
    granted timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    claimed timestamp with time zone,
    started timestamp with time zone,
    ended timestamp with time zone,
    outcome text,
    change bigint DEFAULT 0 NOT NULL,
    CONSTRAINT grants_charge_check CHECK ((charge >= (0)::numeric)),
    CONSTRAINT grants_check CHECK (((ended IS NULL) = (outcome IS NULL))),
    CONSTRAINT grants_outcome_check CHECK ((outcome = ANY (ARRAY['Ended'::text, 'GivenBack'::text, 'Lapsed'::text]))),
    CONSTRAINT grants_token_check CHECK ((token > 0)),
    CONSTRAINT grants_width_check CHECK ((width >= 0))
);

ALTER TABLE kwicket.grants OWNER TO kwicket_owner;

COMMENT ON TABLE kwicket.grants IS 'Every grant of every pool, from its decision to its end. Clusters that had ledgers of their own
    before may have the same token for what they granted then.';

COMMENT ON COLUMN kwicket.grants.claimed IS 'When the operator of its cluster took it up: from then on it may have reached its Job.';

COMMENT ON COLUMN kwicket.grants.started IS 'When it was seen on its Job: from then to its end it holds a slot.';

COMMENT ON COLUMN kwicket.grants.outcome IS 'Ended: its slot was freed; GivenBack: it never reached its Job; Lapsed: its cluster was silent.';

CREATE TABLE kwicket.members (
    pool text NOT NULL,
    cluster text NOT NULL,
    identity text NOT NULL,
    teller text NOT NULL,
    timeline text DEFAULT ''::text NOT NULL,
    rules text DEFAULT ''::text NOT NULL,
    seen timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    alive timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    pool_uid text DEFAULT ''::text NOT NULL,
    shown bigint DEFAULT 0 NOT NULL,
    doubt bigint DEFAULT 0 NOT NULL,
    CONSTRAINT members_cluster_check CHECK (((cluster <> ''::text) AND (cluster !~ '/'::text)))
);

ALTER TABLE kwicket.members OWNER TO kwicket_owner;

COMMENT ON TABLE kwicket.members IS 'The clusters that share a pool, and their last sign of life.';

COMMENT ON COLUMN kwicket.members.identity IS 'What tells two clusters of one name apart: the UID of the namespace kube-system.';

COMMENT ON COLUMN kwicket.members.teller IS 'The process that tells of the cluster: what a former one still tells is not taken.
    Empty: the cluster has moved away, and what still runs there keeps its slots.';

COMMENT ON COLUMN kwicket.members.timeline IS 'The timeline of the server on which the cluster has told all that waits and runs in it.';

COMMENT ON COLUMN kwicket.members.rules IS 'A digest of the priority, fairness and Limits as declared there; empty if the Pool is deleted.';

COMMENT ON COLUMN kwicket.members.seen IS 'When it last took part.';

COMMENT ON COLUMN kwicket.members.alive IS 'When its operator last gave a sign of life, though it may have taken no part.';

COMMENT ON COLUMN kwicket.members.since IS 'The first of the signs of life that came one after the other up to then.';

COMMENT ON COLUMN kwicket.members.pool_uid IS 'The UID of the Pool in the cluster.';

COMMENT ON COLUMN kwicket.members.shown IS 'The token that its status was last seen to show: if it shows less, the cluster was restored.';

COMMENT ON COLUMN kwicket.members.doubt IS 'The highest token known when the cluster was found to be restored from an older backup, until an
    administrator''s word lets it go on; 0 if it was not.';

CREATE TABLE kwicket.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    major integer NOT NULL,
    checksum text NOT NULL,
    applied timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT migrations_major_check CHECK ((major > 0)),
    CONSTRAINT migrations_number_check CHECK ((number > 0))
);

ALTER TABLE kwicket.migrations OWNER TO kwicket_owner;

CREATE TABLE kwicket.pools (
    name text NOT NULL,
    stamp uuid DEFAULT gen_random_uuid() NOT NULL,
    state json NOT NULL,
    written timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT pools_name_check CHECK ((name <> ''::text))
);
ALTER TABLE ONLY kwicket.pools ALTER COLUMN state SET STORAGE EXTERNAL;

ALTER TABLE kwicket.pools OWNER TO kwicket_owner;

COMMENT ON TABLE kwicket.pools IS 'One page a pool: the turn, the tokens, the grants that no cluster has acknowledged yet.';

COMMENT ON COLUMN kwicket.pools.stamp IS 'Another one with each write, never one that was: what a compare-and-swap compares.';

CREATE VIEW kwicket.shares AS
 SELECT grants.pool,
    grants.tenant,
    (day.day)::date AS day,
    count(*) FILTER (WHERE (first.from_day = day.day)) AS starts,
    sum(((grants.width)::numeric * EXTRACT(epoch FROM (LEAST(run.until, (day.day + '1 day'::interval)) - GREATEST(run.since, day.day))))) AS slot_seconds
   FROM kwicket.grants,
    LATERAL ( SELECT (grants.started AT TIME ZONE 'UTC'::text) AS since,
            (COALESCE(grants.ended, clock_timestamp()) AT TIME ZONE 'UTC'::text) AS until) run,
    LATERAL ( SELECT date_trunc('day'::text, run.since) AS from_day) first,
    LATERAL generate_series(first.from_day, GREATEST(run.since, (run.until - '00:00:00.000001'::interval)), '1 day'::interval) day(day)
  WHERE (grants.started IS NOT NULL)
  GROUP BY grants.pool, grants.tenant, day.day;

ALTER VIEW kwicket.shares OWNER TO kwicket_owner;

COMMENT ON VIEW kwicket.shares IS 'What each tenant had of a pool on each day by UTC: starts, and the slots of its Jobs times seconds.';

CREATE TABLE kwicket.tickets (
    pool text NOT NULL,
    cluster text NOT NULL,
    uid text NOT NULL,
    job text NOT NULL,
    tenant text NOT NULL,
    lane text NOT NULL,
    traits jsonb NOT NULL,
    width integer NOT NULL,
    submitted bigint NOT NULL,
    held boolean NOT NULL,
    deliveries integer NOT NULL,
    change bigint NOT NULL,
    gone timestamp with time zone,
    CONSTRAINT tickets_deliveries_check CHECK ((deliveries >= 0)),
    CONSTRAINT tickets_width_check CHECK ((width >= 0))
);

ALTER TABLE kwicket.tickets OWNER TO kwicket_owner;

COMMENT ON TABLE kwicket.tickets IS 'The Jobs that wait, as their clusters have told them.';

COMMENT ON COLUMN kwicket.tickets.submitted IS 'Milliseconds since 1970, by its API server''s clock.';

ALTER TABLE ONLY kwicket.feeds
    ADD CONSTRAINT feeds_pkey PRIMARY KEY (pool);

ALTER TABLE ONLY kwicket.fences
    ADD CONSTRAINT fences_pkey PRIMARY KEY (resource);

ALTER TABLE ONLY kwicket.grants
    ADD CONSTRAINT grants_pkey PRIMARY KEY (pool, token, cluster);

ALTER TABLE ONLY kwicket.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (pool, cluster);

ALTER TABLE ONLY kwicket.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY kwicket.pools
    ADD CONSTRAINT pools_pkey PRIMARY KEY (name);

ALTER TABLE ONLY kwicket.tickets
    ADD CONSTRAINT tickets_pkey PRIMARY KEY (pool, cluster, uid);

CREATE INDEX grants_by_change ON kwicket.grants USING btree (pool, change) WHERE (change > 0);

CREATE INDEX grants_given_back ON kwicket.grants USING btree (pool, cluster, ended) WHERE ((outcome = 'GivenBack'::text) AND (claimed IS NULL));

CREATE INDEX grants_that_ended ON kwicket.grants USING btree (ended) WHERE (ended IS NOT NULL);

CREATE INDEX grants_that_lapsed ON kwicket.grants USING btree (pool, ended) WHERE (outcome = 'Lapsed'::text);

CREATE INDEX grants_that_run ON kwicket.grants USING btree (pool, cluster) WHERE ((started IS NOT NULL) AND (ended IS NULL));

CREATE INDEX grants_under_way ON kwicket.grants USING btree (pool) WHERE ((started IS NULL) AND (ended IS NULL));

CREATE INDEX tickets_by_change ON kwicket.tickets USING btree (pool, change);

CREATE INDEX tickets_that_left ON kwicket.tickets USING btree (gone) WHERE (gone IS NOT NULL);

CREATE INDEX tickets_that_wait ON kwicket.tickets USING btree (pool, cluster) WHERE (gone IS NULL);

GRANT USAGE ON SCHEMA kwicket TO kwicket_operator;
GRANT USAGE ON SCHEMA kwicket TO kwicket_worker;

REVOKE ALL ON FUNCTION kwicket.fence(resource text, token bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION kwicket.fence(resource text, token bigint) TO kwicket_worker;

REVOKE ALL ON FUNCTION kwicket.now_ms() FROM PUBLIC;
GRANT ALL ON FUNCTION kwicket.now_ms() TO kwicket_operator;

REVOKE ALL ON FUNCTION kwicket.timeline() FROM PUBLIC;
GRANT ALL ON FUNCTION kwicket.timeline() TO kwicket_operator;

GRANT SELECT,INSERT,UPDATE ON TABLE kwicket.feeds TO kwicket_operator;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE kwicket.grants TO kwicket_operator;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE kwicket.members TO kwicket_operator;

GRANT SELECT ON TABLE kwicket.migrations TO kwicket_operator;

GRANT SELECT,INSERT,UPDATE ON TABLE kwicket.pools TO kwicket_operator;

GRANT SELECT ON TABLE kwicket.shares TO kwicket_operator;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE kwicket.tickets TO kwicket_operator;
