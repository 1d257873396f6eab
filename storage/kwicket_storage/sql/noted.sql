-- Notes that migration $1 was applied: its name, its major version, its checksum.
INSERT INTO kwicket.migrations (number, name, major, checksum) VALUES ($1, $2, $3, $4);
