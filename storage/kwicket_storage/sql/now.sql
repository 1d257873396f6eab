-- What time it is by the clock of all clusters.
SELECT kwicket.now_ms() AS now;
