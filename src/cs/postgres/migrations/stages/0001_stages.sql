-- Calls that are paid for: started with a lease, then answered.  The answer is sealed.
CREATE TABLE calls (
    lookup TEXT NOT NULL,
    provider TEXT NOT NULL,
    request TEXT NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    lease_until TIMESTAMPTZ NOT NULL,
    holder TEXT NOT NULL,
    answer BYTEA,
    PRIMARY KEY (lookup, provider, request)
);
CREATE INDEX calls_started_at ON calls (started_at);

-- By how far the clock of a sandbox was moved; all roles follow it.  Never on a live service.
CREATE TABLE sandbox_clock (
    one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1,
    ahead_s DOUBLE PRECISION NOT NULL CHECK (ahead_s >= 0)
);
