-- Status and usage checks of the last minute, by key: what 120 a minute is counted with on
-- all nodes.  Not durable: after a crash everybody has a fresh minute.
CREATE UNLOGGED TABLE checks (
    key_id TEXT PRIMARY KEY,
    times TIMESTAMPTZ[] NOT NULL, -- counted, the oldest first, all different
    at TIMESTAMPTZ NOT NULL,      -- of the last one asked for
    taken BOOLEAN NOT NULL        -- whether that one was counted
) WITH (fillfactor = 50);         -- rows are written over and over: leave room beside them
