-- Who leads what, until when by the database's clock.  The epoch grows with every new
-- leader; what a leader writes is fenced by it.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    until TIMESTAMPTZ NOT NULL
);

-- How far leaders have come in the log.
CREATE TABLE checkpoints (
    name TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    epoch BIGINT NOT NULL
);

-- When work in hand was last heard of.  Not durable: silence is counted anew.
CREATE UNLOGGED TABLE signs_of_life (
    lookup TEXT NOT NULL,
    stage TEXT NOT NULL,
    item TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    heard_at TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (lookup, stage, item)
);
CREATE INDEX signs_of_life_heard_at ON signs_of_life (heard_at);
