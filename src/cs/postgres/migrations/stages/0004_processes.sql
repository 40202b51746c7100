-- The stages' processes, as in the service's database.
CREATE UNLOGGED TABLE IF NOT EXISTS processes (
    process TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL,
    ready BOOLEAN NOT NULL,
    health TEXT NOT NULL
);
