-- The migrations that were applied, oldest first.
SELECT number, name, major, checksum FROM kwicket.migrations ORDER BY number;
