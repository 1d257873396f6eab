-- Cluster $2 leaves pool $1, of which $3 tells. What it took up and never started can be given back; as
-- long as anything holds a slot, it stays a member, and there is no row.
WITH returned AS (
    UPDATE kwicket.grants SET claimed = NULL
    WHERE pool = $1 AND cluster = $2 AND started IS NULL AND ended IS NULL AND EXISTS (
        SELECT FROM kwicket.members WHERE pool = $1 AND cluster = $2 AND teller = $3
    )
)
DELETE FROM kwicket.members
WHERE pool = $1 AND cluster = $2 AND teller = $3 AND NOT EXISTS (
    SELECT FROM kwicket.grants
    WHERE pool = $1 AND cluster = $2 AND started IS NOT NULL AND ended IS NULL
)
RETURNING pg_notify('kwicket', $1);
