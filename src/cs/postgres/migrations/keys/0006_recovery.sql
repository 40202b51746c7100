-- How far the log was when a process last looked: a log that was restored from a backup is behind
-- that.  The name of an event holds nothing personal.
CREATE TABLE log_mark (
    one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1,
    epoch BIGINT NOT NULL,
    position BIGINT NOT NULL,
    event TEXT NOT NULL,
    seen_at TEXT NOT NULL
);
-- Erasures and lifted suppressions, by keyed hashes, so that they can be done again on a log that
-- was restored from a backup before them.
CREATE TABLE erasure (
    id TEXT NOT NULL,
    at TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (id, at)
);
