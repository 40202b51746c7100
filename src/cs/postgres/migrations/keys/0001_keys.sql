-- Data keys, wrapped by a master key that is not in any database.  A destroyed one is NULL.
CREATE TABLE data_key (
    name TEXT PRIMARY KEY,
    wrapped BYTEA
);

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
