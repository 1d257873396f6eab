-- What migrations need before the first of them: roles, the schema, and the list of those applied.
-- Again and again without harm; docs/postgres.md says by whom.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['kwicket_owner', 'kwicket_operator', 'kwicket_worker'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
    END LOOP;
    -- From 16 on a member may be one that may not SET ROLE, and who has made a role is no other.
    IF NOT pg_has_role(current_user, 'kwicket_owner', CASE
        WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
        EXECUTE format('GRANT kwicket_owner TO %I', current_user);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'kwicket') THEN
        CREATE SCHEMA kwicket AUTHORIZATION kwicket_owner;
    END IF;
END;
$$;
SET LOCAL ROLE kwicket_owner;
CREATE TABLE IF NOT EXISTS kwicket.migrations (
    number integer PRIMARY KEY CHECK (number > 0),
    name text NOT NULL,
    major integer NOT NULL CHECK (major > 0),
    checksum text NOT NULL,
    applied timestamptz NOT NULL DEFAULT clock_timestamp()
);
