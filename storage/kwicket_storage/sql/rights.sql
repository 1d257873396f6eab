-- What the operator's queries need and the user of this connection may not.
SELECT right_ || ' ON kwicket.' || name AS missing
FROM (VALUES
    ('feeds', 'SELECT, INSERT, UPDATE'),
    ('grants', 'SELECT, INSERT, UPDATE, DELETE'),
    ('members', 'SELECT, INSERT, UPDATE, DELETE'),
    ('migrations', 'SELECT'),
    ('pools', 'SELECT, INSERT, UPDATE'),
    ('tickets', 'SELECT, INSERT, UPDATE, DELETE')
) AS needed (name, rights), unnest(string_to_array(rights, ', ')) AS right_
WHERE NOT has_table_privilege('kwicket.' || name, right_)
UNION ALL
SELECT 'EXECUTE ON FUNCTION kwicket.' || name
FROM unnest(ARRAY['now_ms()', 'timeline()']) AS name
WHERE NOT has_function_privilege('kwicket.' || name, 'EXECUTE')
ORDER BY missing;
