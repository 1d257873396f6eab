-- The names of all pools.
SELECT name FROM kwicket.pools ORDER BY name;
