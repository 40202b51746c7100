-- Calls that are paid for: begun with a lease, then answered.  What was asked is a keyed hash,
-- the answer is sealed.
CREATE TABLE calls (
    lookup TEXT NOT NULL,
    provider TEXT NOT NULL,
    request TEXT NOT NULL,
    begun_at TIMESTAMPTZ NOT NULL,
    lease_until TIMESTAMPTZ NOT NULL,
    holder TEXT NOT NULL,
    answer BYTEA,
    PRIMARY KEY (lookup, provider, request)
);
CREATE INDEX calls_begun_at ON calls (begun_at);

-- Tells the key of the calls from others: with two keys a call would be made twice.
CREATE TABLE calls_key (
    one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1,
    proof BYTEA NOT NULL
);

-- By how far the clock of a sandbox was moved; all roles follow it.  Never on a live service.
CREATE TABLE sandbox_clock (
    one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1,
    ahead_s DOUBLE PRECISION NOT NULL CHECK (ahead_s >= 0)
);
