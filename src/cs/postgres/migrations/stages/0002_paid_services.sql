-- How fast paid services may be asked: when the bucket of each is full again, and until when
-- nobody asks it.  Moments are seconds since 1970.
CREATE TABLE services (
    service TEXT PRIMARY KEY,
    full_at DOUBLE PRECISION NOT NULL DEFAULT 0,
    paused_until DOUBLE PRECISION NOT NULL DEFAULT 0,
    paused_why TEXT NOT NULL DEFAULT ''
);

-- What was spent there, a row a day of UTC, in millionths of a dollar.  Nobody is named.
CREATE TABLE spending (
    service TEXT NOT NULL,
    day DATE NOT NULL,
    calls BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    PRIMARY KEY (service, day)
);
