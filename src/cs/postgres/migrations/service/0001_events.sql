-- The event log, in the table layout of the eventsourcing library (9.5, text ids), so that
-- its recorders can read it.  Only append_events writes it.
CREATE TABLE stored_events (
    originator_id TEXT NOT NULL,
    originator_version BIGINT NOT NULL,
    topic TEXT,
    state BYTEA,
    notification_id BIGSERIAL,
    PRIMARY KEY (originator_id, originator_version)
) WITH (
    autovacuum_enabled = true,
    autovacuum_vacuum_threshold = 100000000,
    autovacuum_vacuum_scale_factor = 0.5,
    autovacuum_analyze_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.01
);
CREATE UNIQUE INDEX stored_events_notification_id_idx ON stored_events (notification_id ASC);

-- Folded states, in the library's layout too, but vacuumed: they replace each other.  Can be
-- emptied at any time.
CREATE TABLE snapshots (
    originator_id TEXT NOT NULL,
    originator_version BIGINT NOT NULL,
    topic TEXT,
    state BYTEA,
    PRIMARY KEY (originator_id, originator_version)
) WITH (
    autovacuum_enabled = true,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.5,
    autovacuum_analyze_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.01
);

-- Start times of lookups, numbered without gaps: what the daily ceiling is checked against.
-- Made anew from the log when it is empty.
CREATE TABLE lookup_starts (
    number BIGINT PRIMARY KEY,
    started_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX lookup_started ON stored_events (notification_id)
    WHERE topic = 'brand.lookup-started.v1';

-- Store a batch of requests; each is stored whole or says why not, and leaves the others
-- alone.  Requests count from 1.  A request has parts, one for each of its streams; an event
-- is stored if its request is.
--
-- The lock is held until the transaction's end, so that positions become visible in their
-- order: who reads what is beyond a position misses nothing.  Positions are counted here and
-- not drawn from the sequence, which has a gap after every transaction that failed.
CREATE FUNCTION append_events(
    streams TEXT[],             -- of the batch, each once
    part_request INTEGER[],     -- ascending
    part_stream INTEGER[],      -- which of the streams
    part_expected BIGINT[],     -- its version before the first event
    part_events INTEGER[],      -- how many
    starts_at TIMESTAMPTZ[],    -- of a request that starts a lookup, else NULL
    starts_limit BIGINT[],      -- lookups a day, NULL for any number
    event_request INTEGER[],    -- ascending
    event_stream TEXT[],
    event_version BIGINT[],
    event_topic TEXT[],
    event_state BYTEA[],
    OUT positions BIGINT[],     -- of a request's last event; NULL if it is not stored
    OUT conflicts INTEGER[],    -- the part whose stream is at another version
    OUT at_version BIGINT[],    -- and at which
    OUT opens_at TIMESTAMPTZ[]  -- when the next lookup may start
)
LANGUAGE plpgsql
SET enable_seqscan = off -- a plan made while the log was short is bad when it is long
AS $$
DECLARE
    requests CONSTANT INTEGER := cardinality(starts_at);
    parts CONSTANT INTEGER := cardinality(part_request);
    stored BOOLEAN[] := array_fill(false, ARRAY[requests]);
    versions BIGINT[];
    before BIGINT;
    last BIGINT;
    starts BIGINT;
    opens TIMESTAMPTZ;
    part INTEGER := 1;
    first_part INTEGER;
    allowed BOOLEAN;
BEGIN
    positions := array_fill(NULL::BIGINT, ARRAY[requests]);
    conflicts := array_fill(NULL::INTEGER, ARRAY[requests]);
    at_version := array_fill(NULL::BIGINT, ARRAY[requests]);
    opens_at := array_fill(NULL::TIMESTAMPTZ, ARRAY[requests]);

    PERFORM pg_advisory_xact_lock(1668505452);
    SELECT array_agg(
        COALESCE(
            (SELECT max(e.originator_version) FROM stored_events e
             WHERE e.originator_id = s.stream),
            -1
        ) ORDER BY s.n
    ) INTO versions FROM unnest(streams) WITH ORDINALITY AS s (stream, n);
    SELECT COALESCE(max(notification_id), 0) INTO before FROM stored_events;
    last := before;

    FOR request IN 1..requests LOOP
        allowed := true;
        first_part := part;
        WHILE part <= parts AND part_request[part] = request LOOP
            IF allowed AND versions[part_stream[part]] <> part_expected[part] THEN
                allowed := false;
                conflicts[request] := part;
                at_version[request] := versions[part_stream[part]];
            END IF;
            part := part + 1;
        END LOOP;

        IF allowed AND starts_at[request] IS NOT NULL THEN
            IF starts IS NULL THEN
                starts := newest_lookup_start(starts_at[request]);
            END IF;
            IF starts_limit[request] = 0 THEN
                allowed := false;
                opens_at[request] := starts_at[request] + interval '24 hours';
            ELSIF starts_limit[request] IS NOT NULL THEN
                -- Everything after start number n + 1 - limit is inside the window too.
                SELECT started_at + interval '24 hours' INTO opens FROM lookup_starts
                WHERE number = starts + 1 - starts_limit[request];
                IF opens > starts_at[request] THEN
                    allowed := false;
                    opens_at[request] := opens;
                END IF;
            END IF;
            IF allowed THEN
                starts := starts + 1;
                INSERT INTO lookup_starts VALUES (starts, starts_at[request]);
            END IF;
        END IF;

        IF allowed THEN
            FOR p IN first_part..part - 1 LOOP
                versions[part_stream[p]] := versions[part_stream[p]] + part_events[p];
                last := last + part_events[p];
            END LOOP;
            stored[request] := true;
            positions[request] := last;
        END IF;
    END LOOP;

    IF last > before THEN
        INSERT INTO stored_events
            (originator_id, originator_version, topic, state, notification_id)
        SELECT e.stream, e.version, e.topic, e.state,
            before + row_number() OVER (ORDER BY e.n)
        FROM unnest(event_request, event_stream, event_version, event_topic, event_state)
            WITH ORDINALITY AS e (request, stream, version, topic, state, n)
        WHERE stored[e.request];
        PERFORM pg_notify('stored_events', last::TEXT);
    END IF;
END
$$;

-- Return the number of the newest start, 0 for none.  Called under the lock for appends.
CREATE FUNCTION newest_lookup_start(at TIMESTAMPTZ) RETURNS BIGINT
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
            FROM stored_events WHERE topic = 'brand.lookup-started.v1'
        ) AS logged
        WHERE started_at > newest_lookup_start.at - interval '24 hours';
        SELECT max(number) INTO newest FROM lookup_starts;
    END IF;
    RETURN COALESCE(newest, 0);
END
$$;
