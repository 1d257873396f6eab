CREATE TABLE kwicket_fences (
    name text PRIMARY KEY,
    highest bigint NOT NULL CHECK (highest > 0)
);

CREATE FUNCTION kwicket_fence(resource text, token bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    seen bigint;
BEGIN
    -- Locks the row to the end of the transaction, also where it changes nothing.
    INSERT INTO kwicket_fences AS known (name, highest) VALUES (resource, token)
        ON CONFLICT (name) DO UPDATE SET highest = greatest(known.highest, excluded.highest)
        RETURNING known.highest INTO seen;
    IF token < seen THEN
        RAISE EXCEPTION 'token % is too old for %: % was here', token, resource, seen
            USING ERRCODE = 'KW001', HINT = 'Stop, and do not try again: this start of the Job '
                'has lost its lease, and a later one does the work.';
    END IF;
END;
$$;
