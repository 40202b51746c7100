"""The tables of views in PostgreSQL: a set for each generation, side by side.

The tables of a new generation (`cs.projections.generation`) are built beside those of the
one before, which nodes of the version before go on reading (and their projection role
keeps up to date) while an upgrade is under way.  Whoever uses a set notes so; a set that
nobody used for `GRACE_S` is dropped by a runner of another generation that has caught up.

The tables are logged, not UNLOGGED: those are empty after a crash or a failover, and until
the whole log was replayed no call could be answered.  Their commits are not waited for
(``synchronous_commit = off``): a crash loses the last moments of rows and checkpoint
together, and the runner applies them again.
"""

from collections.abc import Sequence

from cs.postgres.pool import PooledConnection
from cs.projections.generation import (
    NO_COPIES,
    CopiedRows,
    Generation,
    TableNames,
    copy_plan,
    is_anew,
    is_complete,
    table_prefix,
    to_copy_from,
)
from cs.projections.projection import Projection
from cs.projections.set_aside import ASIDE, SET_ASIDE

#: Of ``pg_advisory_xact_lock``: one at a time makes or drops tables.
_LOCK = 0x63735F76
#: Copying the rows of another set takes no longer, else everything is replayed.
COPY_S = 900.0


class TableSet:
    """The tables of the generation of *projections*, or of what is made anew beside it.

    Args:
        projections: All of them.
        name: Of a set that is made anew (`cs.projections.generation.anew_name`).
    """

    def __init__(self, projections: Sequence[Projection], name: str | None = None) -> None:
        self.names = TableNames(projections, name)
        self._projections = projections

    async def make(self, connection: PooledConnection) -> None:
        """Make what is missing; a set that lacks a table begins again, empty."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(_SETS)
        await connection.execute(_COPIES)
        await connection.execute(_EDITIONS)
        made = await connection.fetchval(_ENTER, self.names.generation)
        if not made and await _are_there(connection, self.names.tables):
            return
        await connection.fetchval(_HOLD, self.names.generation)
        await _drop(connection, self.names.prefix)
        for table in self.names.tables:
            await connection.execute(_MAKE.format(table=table))
        await connection.execute(_NO_COPIES, self.names.generation)
        await connection.execute(_EMPTY, self.names.generation)

    async def empty(self, connection: PooledConnection) -> None:
        """Forget every row and the checkpoint."""
        await connection.fetchval(_HOLD, self.names.generation)
        await connection.execute(f"TRUNCATE {', '.join(self.names.tables)}")
        await connection.execute(_NO_COPIES, self.names.generation)
        await connection.execute(_EMPTY, self.names.generation)

    async def used(self, connection: PooledConnection) -> None:
        """Note that this set is in use."""
        await connection.execute(_USED, self.names.generation)

    async def retire_others(
        self, connection: PooledConnection, grace_s: float
    ) -> Sequence[str]:
        """Drop the sets that nobody used for *grace_s*; return their generations."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        retired = await connection.fetch(_RETIRE, self.names.generation, grace_s)
        for row in retired:
            await connection.execute(_NO_COPIES, row["generation"])
            await connection.execute(_NO_EDITION, row["generation"])
            await _drop(connection, table_prefix(row["generation"]))
        return [row["generation"] for row in retired]

    async def others(self, connection: PooledConnection) -> Sequence[Generation]:
        """Return the generations whose rows may be copied, the best one first."""
        found = await connection.fetch(_OTHERS, self.names.generation)
        return to_copy_from(self._projections, [Generation(*row) for row in found])

    async def edition(self, connection: PooledConnection) -> int:
        """Return how often other tables took the place of these."""
        edition: int | None = await connection.fetchval(_EDITION, self.names.generation)
        return edition or 0

    async def anew(self, connection: PooledConnection) -> Sequence[str]:
        """Return the names of the sets that are made anew beside this one."""
        names = [row["generation"] for row in await connection.fetch(_NAMES)]
        return [name for name in names if is_anew(name, self.names.generation)]

    async def drop(self, connection: PooledConnection) -> None:
        """Drop these tables."""
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await _drop(connection, self.names.prefix)
        for statement in (_NO_COPIES, _NO_SET, _NO_EDITION):
            await connection.execute(statement, self.names.generation)

    async def exchange(self, connection: PooledConnection, other: "TableSet") -> None:
        """Exchange the rows of these tables with those of *other*, at the same checkpoint.

        To be called in a transaction that holds the checkpoint's row.  Nobody copies from
        those of *other* from then on.
        """
        for ours, theirs in zip(self.names.tables, other.names.tables, strict=True):
            await connection.execute(f"ALTER TABLE {ours} RENAME TO {ours}_old")
            await connection.execute(f"ALTER TABLE {theirs} RENAME TO {ours}")
            await connection.execute(f"ALTER TABLE {ours}_old RENAME TO {theirs}")
        await connection.execute(_NO_COPIES, self.names.generation)
        await connection.execute(_NEXT_EDITION, self.names.generation)
        await connection.execute(_EMPTY, other.names.generation)

    async def copies(self, connection: PooledConnection) -> CopiedRows:
        """Return what these tables began with."""
        found = await connection.fetchrow(_COPIED, self.names.generation)
        return NO_COPIES if found is None else CopiedRows(*found)

    async def copy_from(
        self, connection: PooledConnection, name: str, epoch: int | None
    ) -> CopiedRows:
        """Copy what the generation *name* has of unchanged projections into empty tables.

        To be called first in a transaction.  Whoever uses the other tables is not held up:
        they are read as they are at one moment.
        """
        await connection.execute(_ONE_SNAPSHOT)
        await connection.execute(f"SET LOCAL statement_timeout = {COPY_S * 1000:.0f}")
        plan = copy_plan(self._projections, name)
        source = table_prefix(name)
        # Before the snapshot is taken: in it, tables emptied later would look empty.
        theirs = [f"{source}_{table}" for table in (*plan.tables, ASIDE.name)]
        await connection.execute(f"LOCK TABLE {', '.join(theirs)} IN ACCESS SHARE MODE")
        found = await connection.fetchrow(_SOURCE, name)
        own = await connection.fetchrow(_OWN, self.names.generation)
        set_aside = await connection.fetchval(
            f"SELECT true FROM {source}_{ASIDE.name} WHERE tag = $1 LIMIT 1",  # noqa: S608
            SET_ASIDE,
        )
        if own is None or own["position"] or own["has_copies"]:
            return NO_COPIES  # somebody else began
        if epoch is not None and epoch < own["epoch"]:
            return NO_COPIES  # somebody else leads
        if found is None or set_aside:
            return NO_COPIES
        position, last_event, copied_to = found
        if not is_complete(position, copied_to) or not await _are_there(connection, theirs):
            return NO_COPIES
        for table in plan.tables:
            rows = f"SELECT id, tag, row FROM {source}_{table}"  # noqa: S608
            copying = f"INSERT INTO {self.names.table(table)} {rows}"
            await connection.execute(copying, timeout=COPY_S)
        copies = CopiedRows(plan.projections, position, last_event)
        if plan.is_everything:
            await connection.execute(_BEGIN_AT, self.names.generation, position, last_event)
        else:
            await connection.execute(
                _KEEP_COPIES, self.names.generation, copies.projections, position, last_event
            )
            # Changes the row, so that whoever copied meanwhile has to look again (40001).
            await connection.execute(_USED, self.names.generation)
        return copies


async def _are_there(connection: PooledConnection, tables: Sequence[str]) -> bool:
    there = await connection.fetchval(_THERE, tables, _COLUMNS)
    return bool(there == len(tables) * len(_COLUMNS))


async def _drop(connection: PooledConnection, prefix: str) -> None:
    for row in await connection.fetch(_TABLES_OF, f"{prefix}_"):
        await connection.execute(f"DROP TABLE {row['relname']}")


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
_COPIES = """
CREATE TABLE IF NOT EXISTS view_copies (
    generation TEXT PRIMARY KEY,
    projections TEXT[] NOT NULL,
    position BIGINT NOT NULL,
    last_event TEXT NOT NULL
)
"""
_EDITIONS = """
CREATE TABLE IF NOT EXISTS view_editions (
    generation TEXT PRIMARY KEY,
    edition BIGINT NOT NULL
)
"""
_EDITION = "SELECT edition FROM view_editions WHERE generation = $1"
_NEXT_EDITION = """
INSERT INTO view_editions VALUES ($1, 1)
ON CONFLICT (generation) DO UPDATE SET edition = view_editions.edition + 1
"""
_NAMES = "SELECT generation FROM view_sets ORDER BY generation"
_NO_SET = "DELETE FROM view_sets WHERE generation = $1"
_NO_EDITION = "DELETE FROM view_editions WHERE generation = $1"
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
_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"
_NO_COPIES = "DELETE FROM view_copies WHERE generation = $1"
_COPIED = "SELECT projections, position, last_event FROM view_copies WHERE generation = $1"
_KEEP_COPIES = "INSERT INTO view_copies VALUES ($1, $2, $3, $4)"
_OTHERS = "SELECT generation, position, last_event FROM view_sets WHERE generation <> $1"
_OWN = """
SELECT s.position, s.epoch, c.generation IS NOT NULL AS has_copies
FROM view_sets AS s LEFT JOIN view_copies AS c USING (generation)
WHERE s.generation = $1 FOR UPDATE OF s
"""
_SOURCE = """
SELECT s.position, s.last_event, COALESCE(c.position, 0)
FROM view_sets AS s LEFT JOIN view_copies AS c USING (generation) WHERE s.generation = $1
"""
_BEGIN_AT = """
UPDATE view_sets SET position = $2, last_event = $3, used_at = now() WHERE generation = $1
"""
_TABLES_OF = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND starts_with(relname, $1) AND pg_table_is_visible(oid)
"""
