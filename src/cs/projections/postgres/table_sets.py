"""The tables of views in PostgreSQL: a set for each generation, side by side.

A changed set of versions is another generation.  Its tables are built beside those of the
one before, which nodes of the version before go on reading (and their projection role
keeps up to date) while an upgrade is under way.  Whoever uses a set notes so; a set that
nobody used for `GRACE_S` is dropped by a runner of another generation that has caught up.

The tables are logged, not UNLOGGED: those are empty after a crash or a failover, and until
the whole log was replayed no call could be answered.  Their commits are not waited for
(``synchronous_commit = off``): a crash loses the last moments of rows and checkpoint
together, and the runner applies them again.
"""

from collections.abc import Sequence
from hashlib import sha256

from cs.postgres.pool import PooledConnection
from cs.projections.port import TABLES

#: How long a set stays that nobody uses: longer than an upgrade, or its way back, takes.
GRACE_S = 24 * 3600.0

#: Of ``pg_advisory_xact_lock``: one at a time makes or drops tables.
_LOCK = 0x63735F76


class TableSet:
    """The tables of *generation*."""

    def __init__(self, generation: str) -> None:
        self.generation = generation
        self._prefix = _prefix(generation)

    def table(self, name: str) -> str:
        return f"{self._prefix}_{name}"

    @property
    def tables(self) -> str:
        return ", ".join(map(self.table, TABLES))

    async def make(self, connection: PooledConnection) -> None:
        """Make what is missing; a set that is not whole begins again, empty."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(_SETS)
        made = await connection.fetchval(_ENTER, self.generation)
        tables = [self.table(name) for name in TABLES]
        there = await connection.fetchval(_THERE, tables, _COLUMNS)
        if not made and there == len(TABLES) * len(_COLUMNS):
            return
        await connection.fetchval(_HOLD, self.generation)
        await _drop(connection, self._prefix)
        for name in TABLES:
            await connection.execute(_MAKE.format(table=self.table(name)))
        await connection.execute(_EMPTY, self.generation)

    async def empty(self, connection: PooledConnection) -> None:
        """Forget every row and the checkpoint."""
        await connection.fetchval(_HOLD, self.generation)
        await connection.execute(f"TRUNCATE {self.tables}")
        await connection.execute(_EMPTY, self.generation)

    async def used(self, connection: PooledConnection) -> None:
        """Note that this set is in use."""
        await connection.execute(_USED, self.generation)

    async def retire_others(
        self, connection: PooledConnection, grace_s: float
    ) -> Sequence[str]:
        """Drop the sets that nobody used for *grace_s*; return their generations."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        retired = await connection.fetch(_RETIRE, self.generation, grace_s)
        for row in retired:
            await _drop(connection, _prefix(row["generation"]))
        return [row["generation"] for row in retired]


async def _drop(connection: PooledConnection, prefix: str) -> None:
    for name in TABLES:
        await connection.execute(f"DROP TABLE IF EXISTS {prefix}_{name}")


def _prefix(generation: str) -> str:
    return f"view_{sha256(generation.encode()).hexdigest()[:12]}"


_COLUMNS = ("id", "tag", "row")
_SETS = """
CREATE TABLE IF NOT EXISTS view_sets (
    generation TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    last_event TEXT NOT NULL,
    epoch BIGINT NOT NULL,
    used_at TIMESTAMPTZ NOT NULL
)
"""
_ENTER = """
INSERT INTO view_sets VALUES ($1, 0, '', 0, now()) ON CONFLICT DO NOTHING RETURNING true
"""
_THERE = """
SELECT count(*) FROM unnest($1::text[]) AS name
JOIN pg_attribute ON attrelid = to_regclass(name) AND attname = ANY($2::text[])
WHERE NOT attisdropped
"""
_MAKE = """
CREATE TABLE {table} (id TEXT COLLATE "C" PRIMARY KEY, tag TEXT, row BYTEA NOT NULL);
CREATE INDEX ON {table} (tag) WHERE tag IS NOT NULL;
"""
_HOLD = "SELECT true FROM view_sets WHERE generation = $1 FOR UPDATE"
_EMPTY = "UPDATE view_sets SET position = 0, last_event = '' WHERE generation = $1"
_USED = "UPDATE view_sets SET used_at = now() WHERE generation = $1"
_RETIRE = """
DELETE FROM view_sets
WHERE generation <> $1 AND used_at < now() - $2 * interval '1 second'
RETURNING generation
"""
