-- Data keys, wrapped by a master key that is not in any database.  A destroyed one is NULL.
--
-- In parts, because a part is written anew when a key in it is destroyed: a page that is only
-- vacuumed keeps the bytes of what was in it.
CREATE TABLE data_key (
    name TEXT PRIMARY KEY,
    wrapped BYTEA
) PARTITION BY HASH (name);

DO $$
BEGIN
    FOR part IN 0..63 LOOP
        EXECUTE format(
            'CREATE TABLE data_key_%s PARTITION OF data_key '
            'FOR VALUES WITH (MODULUS 64, REMAINDER %s)', part, part
        );
    END LOOP;
END
$$;

CREATE TABLE person_index (
    fingerprint TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (fingerprint, name)
);

CREATE TABLE suppressed (
    fingerprint TEXT PRIMARY KEY
);

CREATE TABLE master (
    one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1,
    proof BYTEA NOT NULL
);
