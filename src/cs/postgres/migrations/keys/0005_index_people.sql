-- Remember (fingerprint, name) pairs, and destroy the keys of names that are suppressed; return
-- each of those with the part that its key was in, then what is there of the keys wanted.
--
-- One statement for its caller, who is waited for: by itself it would be six.  Each statement
-- in it sees what was committed before, so the second whom the lock has waited for.
CREATE FUNCTION index_people(prints TEXT[], names TEXT[], wanted TEXT[])
RETURNS TABLE (name TEXT, wrapped BYTEA, part TEXT)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
    -- Nobody suppresses while an index is written; several indexes run beside each other.
    LOCK TABLE suppressed IN ROW SHARE MODE;
    INSERT INTO person_index SELECT * FROM unnest(prints, names) ON CONFLICT DO NOTHING;
    RETURN QUERY
    INSERT INTO data_key
    SELECT DISTINCT entry.name, NULL::BYTEA
    FROM unnest(prints, names) AS entry (fingerprint, name)
    JOIN suppressed USING (fingerprint)
    ON CONFLICT (name) DO UPDATE SET wrapped = NULL
    RETURNING data_key.name, data_key.wrapped, data_key.tableoid::regclass::TEXT;
    RETURN QUERY
    SELECT data_key.name, data_key.wrapped, NULL FROM data_key WHERE data_key.name = ANY(wanted);
END
$$;
