-- Has every operator read its pages again before it writes them.
UPDATE kwicket.pools SET stamp = gen_random_uuid();
