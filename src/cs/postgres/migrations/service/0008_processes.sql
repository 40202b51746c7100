-- The processes that run, as each reports itself; rows not renewed for a day are removed.  Not
-- durable: a process reports itself again within seconds.
CREATE UNLOGGED TABLE IF NOT EXISTS processes (
    process TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    ready BOOLEAN NOT NULL,
    health TEXT NOT NULL
);
