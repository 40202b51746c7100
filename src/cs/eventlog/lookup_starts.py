"""The numbered start times behind the daily ceiling, in the log's own SQLite file.

Written in the transaction of the append that starts a lookup, and never truer than the
log: the n-th start is the n-th `LookupStarted`.  A table that is lost, emptied or behind
is made again from those, the last 24 hours of them, since older ones count no more.

An index of the `LookupStarted` alone makes it cheap to see whether the table is complete (a
million of them: some 20 ms), whatever else is in the log.
"""

from datetime import UTC, datetime
from sqlite3 import Cursor

import msgspec

from cs.domain.brand.events import LookupStarted
from cs.domain.codec import every_version
from cs.domain.rate_limits import DAY, opens_after
from cs.eventlog.port import Ceiling

#: Of every version: one that this process cannot read has started a lookup, too.
_STARTED = f"topic GLOB '{every_version(LookupStarted)}[0-9]*'"
#: How long starts stay in the table: twice what the ceiling counts, as clocks step back.
STARTS_KEPT = 2 * DAY
#: Old starts removed with each new one: an old table shrinks, and no append takes long.
PRUNED_AT_ONCE = 4


class _Start(msgspec.Struct):
    """What is read of a stored `LookupStarted`, whichever its version."""

    at: datetime
    clock: datetime | None = None


_PRUNE = """
DELETE FROM lookup_starts WHERE number < (
    SELECT COALESCE(MIN(CASE WHEN started_at > ? THEN number END), MAX(number) + 1)
    FROM (SELECT number, started_at FROM lookup_starts ORDER BY number LIMIT ?)
)
"""
_DAY_S = DAY.total_seconds()
_decode = msgspec.json.Decoder(_Start).decode


class LookupStarts:
    """Every method runs in the caller's transaction.

    Args:
        events: Name of the table of events.
    """

    def __init__(self, events: str) -> None:
        self._events = events
        self._logged = f"FROM {events} WHERE {_STARTED}"

    def statements(self) -> list[str]:
        """Return what makes the table and the index, unless they are there."""
        return [
            (
                "CREATE TABLE IF NOT EXISTS lookup_starts "
                "(number INTEGER PRIMARY KEY, started_at REAL NOT NULL)"
            ),
            (
                f"CREATE INDEX IF NOT EXISTS lookup_started_any ON {self._events} (topic) "
                f"WHERE {_STARTED}"
            ),
            "DROP INDEX IF EXISTS lookup_started",  # of the first version alone
        ]

    def add(self, cursor: Cursor, at: datetime) -> None:
        """Add a start, and remove the oldest, some at a time, that no ceiling needs."""
        cursor.execute("INSERT INTO lookup_starts (started_at) VALUES (?)", (at.timestamp(),))
        cursor.execute(_PRUNE, ((at - STARTS_KEPT).timestamp(), PRUNED_AT_ONCE))

    def opens_at(self, cursor: Cursor, ceiling: Ceiling) -> datetime | None:
        """Return when the next lookup may start; ``None`` if it may now."""
        if ceiling.limit is None:
            return None
        if ceiling.limit == 0:
            return ceiling.at + DAY
        # Start number n - limit decides: everything after it is inside the window too.
        cursor.execute(
            "SELECT started_at FROM lookup_starts WHERE number = "
            "(SELECT COALESCE(MAX(number), 0) FROM lookup_starts) + 1 - ?",
            (ceiling.limit,),
        )
        row = cursor.fetchone()
        if row is None:
            return None
        return opens_after(datetime.fromtimestamp(row[0], UTC), ceiling.at)

    def is_complete(self, cursor: Cursor) -> bool:
        """Return whether the table has every start of the log that still counts."""
        logged = self._count(cursor)
        cursor.execute("SELECT COUNT(*), MIN(number), MAX(number) FROM lookup_starts")
        rows, first, last = cursor.fetchone()
        if not rows or not logged:
            return bool(rows == logged)
        if last != logged or rows != last - first + 1:
            return False
        cursor.execute("SELECT started_at FROM lookup_starts WHERE number = ?", (last,))
        (newest,) = cursor.fetchone()
        if self._logged_start(cursor, back=0) not in {newest, None}:
            return False
        missing = self._logged_start(cursor, back=rows) if first > 1 else None
        return missing is None or missing <= newest - _DAY_S

    def rebuild(self, cursor: Cursor) -> int:
        """Make the table again from the log; return how many starts count."""
        number = self._count(cursor)
        rows: list[tuple[int, float]] = []
        cursor.execute(f"SELECT state {self._logged} ORDER BY rowid DESC")
        while (row := cursor.fetchone()) is not None:
            start = _start(row[0])
            if start is not None:
                if rows and start <= rows[0][1] - _DAY_S:
                    break
                rows.append((number, start))
            number -= 1
        cursor.execute("DELETE FROM lookup_starts")
        cursor.executemany("INSERT INTO lookup_starts VALUES (?, ?)", rows)
        return len(rows)

    def _count(self, cursor: Cursor) -> int:
        cursor.execute(f"SELECT COUNT(*) {self._logged}")
        count: int = cursor.fetchone()[0]
        return count

    def _logged_start(self, cursor: Cursor, back: int) -> float | None:
        """Return the start that has *back* newer ones in the log."""
        cursor.execute(
            f"SELECT state {self._logged} ORDER BY rowid DESC LIMIT 1 OFFSET ?", (back,)
        )
        return _start(cursor.fetchone()[0])


def _start(state: bytes) -> float | None:
    """Return the start in a stored event; ``None`` if it is damaged."""
    try:
        start = _decode(state)
        return (start.clock or start.at).timestamp()
    except (msgspec.MsgspecError, TypeError):
        return None
