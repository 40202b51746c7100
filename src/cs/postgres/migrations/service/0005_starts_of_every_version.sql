-- A later version of *lookup started* counts for the daily ceiling as the first does, also where
-- it cannot be read yet.
CREATE OR REPLACE FUNCTION newest_lookup_start(at TIMESTAMPTZ) RETURNS BIGINT
LANGUAGE plpgsql
AS $$
DECLARE
    newest BIGINT;
BEGIN
    SELECT max(number) INTO newest FROM lookup_starts;
    IF newest IS NULL THEN
        INSERT INTO lookup_starts
        SELECT row_number() OVER (ORDER BY position), started_at
        FROM (
            SELECT notification_id AS position,
                (convert_from(state, 'UTF8')::JSON ->> 'at')::TIMESTAMPTZ AS started_at
            FROM stored_events WHERE topic LIKE 'brand.lookup-started.v%'
        ) AS logged
        WHERE started_at > newest_lookup_start.at - interval '24 hours';
        SELECT max(number) INTO newest FROM lookup_starts;
    END IF;
    RETURN COALESCE(newest, 0);
END
$$;
