-- Secrets of the whole service, wrapped by the master key: what fingerprints and MACs are made
-- with.  A store of before keeps what it derived from its master key, put here when it is
-- first opened.
CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    wrapped BYTEA NOT NULL
);
