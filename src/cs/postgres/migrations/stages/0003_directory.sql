-- The operator's directory of people.  Who somebody is and where they are looked for are keyed
-- hashes, prints are those that erasure goes by, all else is sealed.  Parts are replaced once
-- somebody in them is erased.
CREATE TABLE directory_person (
    who BYTEA NOT NULL,
    as_of DATE NOT NULL,
    places BYTEA[] NOT NULL,
    prints BYTEA[] NOT NULL,
    box BYTEA NOT NULL,
    PRIMARY KEY (who)
) PARTITION BY HASH (who);

DO $$
BEGIN
    FOR part IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE directory_person_%s PARTITION OF directory_person '
            'FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
    END LOOP;
END
$$;
CREATE INDEX directory_person_places ON directory_person USING gin (places);
CREATE INDEX directory_person_prints ON directory_person USING gin (prints);
CREATE INDEX directory_person_as_of ON directory_person (as_of);

-- Tells the key of the directory from others; whoever writes holds on to it.
CREATE TABLE directory_key (
    one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1,
    proof BYTEA NOT NULL
);
