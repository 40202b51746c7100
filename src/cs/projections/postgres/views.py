"""Views in PostgreSQL, for any number of runners and readers.

A page is one transaction: it holds the checkpoint's row, so runners take turns, and a page
that was overtaken is left alone.  Its commit is told on the channel `CHANNEL`.
"""

import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import asyncpg
import msgspec
from structlog import get_logger

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.postgres.errors import DatabaseUnavailable, Fenced
from cs.postgres.listening import POLL_S, Listener
from cs.postgres.pool import (
    CONNECT_TIMEOUT_S,
    Pool,
    PooledConnection,
    transaction,
    translate_errors,
)
from cs.projections.generation import GRACE_S, Copies, Generation, after_copies
from cs.projections.port import Changed, check_since, following_on, named
from cs.projections.postgres.folding import folded, folded_late
from cs.projections.postgres.table_sets import TableSet
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows, Table
from cs.projections.set_aside import ASIDE, SET_ASIDE, TakeUp

log = get_logger()

R = TypeVar("R", bound=msgspec.Struct)

CHANNEL = "cs_views"
#: How often a reader notes that it uses its tables, and a runner looks for unused ones.
NOTE_EVERY_S = 600.0

#: Somebody else holds what we need, or dropped what we use, just now.
_IN_THE_WAY = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)
_LOST = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError)


class PostgresViews:
    """`cs.projections.port.Views` on *pool*; nothing is connected until it is used.

    Args:
        grace_s: How long tables of another generation stay that nobody uses.
    """

    def __init__(
        self,
        pool: Pool,
        projections: Sequence[Projection],
        *,
        grace_s: float = GRACE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pool = pool
        self._projections = projections
        self._grace_s = grace_s
        self._monotonic = monotonic
        self._set = TableSet(projections)
        self._made = False
        self._noted_at: float | None = None
        self._retired_at: float | None = None
        self._listener = Listener(pool, CHANNEL)

    async def position(self) -> int:
        async with self._reading() as connection:
            return await self._position(connection)

    async def last_event(self) -> str:
        async with self._reading() as connection:
            name: str | None = await connection.fetchval(
                _LAST_EVENT, self._set.names.generation
            )
        return name or ""

    async def moved(self, after: int) -> int:
        with _told():
            await self._listener.connect()  # before the look, or a move between is missed
        position = await self.position()
        if position > after:
            return position
        await self._note_use()
        with _told():
            if not await self._listener.wait(POLL_S):
                await self._listener.check()
        return await self.position()

    async def apply(
        self, page: Sequence[RecordedEvent], seal: SealBody, epoch: int | None = None
    ) -> int:
        try:
            async with self._changing() as connection:
                return await self._apply(connection, page, seal, epoch)
        except LogUnavailable:
            if self._made:
                raise
        except msgspec.MsgspecError as error:
            await self._begin_anew(error)
        return await self.position()  # made anew: the checkpoint tells it

    async def _apply(
        self,
        connection: PooledConnection,
        page: Sequence[RecordedEvent],
        seal: SealBody,
        epoch: int | None,
    ) -> int:
        await connection.execute("SET LOCAL synchronous_commit = off")
        held = await connection.fetchrow(_HOLD, self._set.names.generation)
        if held is None:
            raise asyncpg.UndefinedTableError("the checkpoint is gone")
        checkpoint: int = held["position"]
        if epoch is not None and epoch < held["epoch"]:
            raise Fenced(f"the views were written under lease {held['epoch']}, not {epoch}")
        new = following_on(page, checkpoint)
        if new:
            rows = await self._folded(connection, new, seal)
            await self._write(connection, rows)
            checkpoint = new[-1].position
        elif epoch is None or epoch == held["epoch"]:
            return checkpoint
        last_event = named(new[-1]) if new else held["last_event"]
        await connection.execute(
            _MOVE, self._set.names.generation, checkpoint, last_event, epoch or 0
        )
        await connection.execute(_NOTIFY, CHANNEL, str(checkpoint))
        return checkpoint

    async def _folded(
        self, connection: PooledConnection, new: Sequence[RecordedEvent], seal: SealBody
    ) -> Rows:
        tagged = _SET_ASIDE.format(table=self._set.names.table(ASIDE.name))
        set_aside = [row["id"] for row in await connection.fetch(tagged, SET_ASIDE)]
        fetch = self._fetch(connection)
        return await folded(await self._after_copies(connection), new, seal, fetch, set_aside)

    async def _after_copies(self, connection: PooledConnection) -> Sequence[Projection]:
        # A statement of its own: one that waited for the checkpoint's row saw what was before.
        return after_copies(self._projections, await self._set.copies(connection))

    async def take_up(self, late: TakeUp, seal: SealBody, epoch: int | None = None) -> bool:
        try:
            async with self._changing() as connection:
                return await self._take_up(connection, late, seal, epoch)
        except msgspec.MsgspecError as error:
            raise await self._begin_anew(error) from error

    async def _take_up(
        self, connection: PooledConnection, late: TakeUp, seal: SealBody, epoch: int | None
    ) -> bool:
        held = await connection.fetchrow(_HOLD, self._set.names.generation)
        if held is None or held["position"] != late.checkpoint:
            return False
        if epoch is not None and epoch < held["epoch"]:
            return False
        projections = await self._after_copies(connection)
        rows = await folded_late(projections, late, seal, self._fetch(connection))
        if rows is None:
            return False
        await self._write(connection, rows)
        return True

    async def ahead(self, newer: Sequence[RecordedEvent], seal: SealBody) -> Changed:
        try:
            async with self._changing() as connection:
                rows = await self._rows_ahead(connection, newer, seal)
        except msgspec.MsgspecError as error:
            raise await self._begin_anew(error) from error
        return {(table, row_id): data for table, row_id, _, data in rows.changes()}

    async def _rows_ahead(
        self, connection: PooledConnection, newer: Sequence[RecordedEvent], seal: SealBody
    ) -> Rows:
        await connection.execute(_ONE_SNAPSHOT)
        # Before the snapshot is taken: in it, tables emptied later would look empty.
        await connection.execute(_LOCK.format(tables=", ".join(self._set.names.tables)))
        checkpoint = await self._position(connection)
        check_since(checkpoint, newer[0].position - 1)
        return await self._folded(connection, following_on(newer, checkpoint), seal)

    async def get(self, table: Table[R], row_id: str, since: int = 0) -> R | None:
        if "\0" in row_id:
            return None  # no text of PostgreSQL's has it
        found = await self._found(_GET, table, since, row_id)
        return found[0][1] if found else None

    async def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        return await self._found(_TAGGED, table, since, tag)

    async def ids_tagged(
        self,
        table: Table[R],
        tags: Collection[str],
        since: int = 0,
        *,
        limit: int | None = None,
    ) -> list[tuple[str, str]]:
        return await self._pairs(_IDS_TAGGED, table, since, list(tags), limit)

    async def tags(
        self, table: Table[R], after: str, limit: int, since: int = 0
    ) -> list[tuple[str, str]]:
        return await self._pairs(_TAGS, table, since, after, limit)

    async def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        return await self._found(_ALL, table, since)

    async def reset(self) -> None:
        async with self._changing() as connection:
            await self._set.empty(connection)

    async def others(self) -> Sequence[Generation]:
        async with self._reading() as connection:
            return await self._set.others(connection)

    async def copy_from(self, other: Generation, epoch: int | None = None) -> Copies:
        try:
            async with self._changing() as connection:
                return await self._set.copy_from(connection, other.name, epoch)
        except asyncpg.PostgresError as error:  # tables of theirs that cannot be read, say
            why = f"the rows of {other.name} cannot be copied: {error}"
            raise LogUnavailable(why) from error

    async def copies(self) -> Copies:
        async with self._reading() as connection:
            return await self._set.copies(connection)

    async def retire(self) -> None:
        now = self._monotonic()
        if self._retired_at is not None and now - self._retired_at < NOTE_EVERY_S:
            return
        self._retired_at = now
        async with self._changing() as connection:
            for retired in await self._set.retire_others(connection, self._grace_s):
                log.info("views_retired", generation=retired)

    async def close(self) -> None:
        await self._listener.close()

    async def _found(
        self, statement: str, table: Table[R], since: int, *values: str
    ) -> list[tuple[str, R]]:
        """Return the rows that *statement* gives, read together with the checkpoint."""
        statement = statement.format(table=self._set.names.table(table.name))
        async with self._reading() as connection:
            found = await connection.fetch(statement, self._set.names.generation, *values)
            check_since(found[0]["position"] if found else 0, since)
            try:
                return [(r["id"], table.decode(r["row"])) for r in found if r["id"] is not None]
            except msgspec.MsgspecError as error:
                damage = error
        raise await self._begin_anew(damage)

    async def _begin_anew(self, damage: msgspec.MsgspecError) -> LogUnavailable:
        """Empty the views, a row of which cannot be read; return what to raise for it."""
        log.warning("views_damaged", error=str(damage))
        await self.reset()
        return LogUnavailable("the views were damaged; they are made anew from the log")

    async def _pairs(
        self, statement: str, table: Table[R], since: int, *values: object
    ) -> list[tuple[str, str]]:
        """Return the (id, tag) that *statement* gives, read together with the checkpoint."""
        statement = statement.format(table=self._set.names.table(table.name))
        async with self._reading() as connection:
            found = await connection.fetch(statement, self._set.names.generation, *values)
            check_since(found[0]["position"] if found else 0, since)
            return [(row["id"], row["tag"]) for row in found if row["id"] is not None]

    def _fetch(self, connection: PooledConnection) -> "_Fetching":
        return _Fetching(connection, self._set)

    async def _write(self, connection: PooledConnection, rows: Rows) -> None:
        columns: dict[str, tuple[list[str], list[str | None], list[bytes]]] = {}
        for table, row_id, tag, data in rows.changes():
            ids, tags, written = columns.setdefault(table, ([], [], []))
            ids.append(row_id)
            tags.append(tag)
            written.append(data)
        for table, lists in columns.items():
            await connection.execute(_WRITE.format(table=self._set.names.table(table)), *lists)

    async def _position(self, connection: PooledConnection) -> int:
        position: int | None = await connection.fetchval(_POSITION, self._set.names.generation)
        return position or 0

    async def _note_use(self) -> None:
        now = self._monotonic()
        if self._noted_at is None or now - self._noted_at >= NOTE_EVERY_S:
            async with self._changing() as connection:
                await self._set.used(connection)
            self._noted_at = now

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[PooledConnection]:
        """Give a transaction on tables that are there."""
        async with self._tables(), transaction(self._pool) as connection:
            yield connection

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[PooledConnection]:
        """Give a connection; each statement sees what is committed."""
        async with self._tables():
            with translate_errors():
                async with self._pool.acquire(timeout=CONNECT_TIMEOUT_S) as connection:
                    yield connection

    @asynccontextmanager
    async def _tables(self) -> AsyncIterator[None]:
        """Make the tables if they are not there; translate what goes wrong."""
        with _told():
            if not self._made:
                async with transaction(self._pool) as connection:
                    await self._set.make(connection)
                self._made = True
            try:
                yield
            except _LOST as error:
                log.warning("views_lost", error=str(error))
                self._made = False
                raise LogUnavailable("the views are gone; they are made anew") from error


class _Fetching:
    """Rows by id, one statement a table."""

    def __init__(self, connection: PooledConnection, tables: TableSet) -> None:
        self._connection = connection
        self._tables = tables

    async def __call__(self, table: str, ids: Collection[str]) -> Mapping[str, bytes]:
        statement = _ROWS.format(table=self._tables.names.table(table))
        found = await self._connection.fetch(statement, list(ids))
        return {row["id"]: row["row"] for row in found}


@contextmanager
def _told() -> Iterator[None]:
    """Turn what PostgreSQL cannot do now into `LogUnavailable`."""
    try:
        yield
    except DatabaseUnavailable as error:
        raise LogUnavailable(f"the views cannot be used: {error}") from error
    except _IN_THE_WAY as error:
        raise LogUnavailable(f"the views are in use: {error}") from error


_POSITION = "SELECT position FROM view_sets WHERE generation = $1"
_LAST_EVENT = "SELECT last_event FROM view_sets WHERE generation = $1"
_HOLD = "SELECT position, last_event, epoch FROM view_sets WHERE generation = $1 FOR UPDATE"
_MOVE = """
UPDATE view_sets
SET position = $2, last_event = $3, epoch = GREATEST(epoch, $4), used_at = now()
WHERE generation = $1
"""
_NOTIFY = "SELECT pg_notify($1, $2)"
_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_LOCK = "LOCK TABLE {tables} IN ACCESS SHARE MODE"
_ROWS = "SELECT id, row FROM {table} WHERE id = ANY($1::text[])"
_SET_ASIDE = "SELECT id FROM {table} WHERE tag = $1"
_WRITE = """
INSERT INTO {table} (id, tag, row)
SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])
ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, row = excluded.row
"""
_GET = """
SELECT s.position, r.id, r.row FROM view_sets AS s LEFT JOIN {table} AS r ON r.id = $2
WHERE s.generation = $1
"""
_TAGGED = """
SELECT s.position, r.id, r.row FROM view_sets AS s LEFT JOIN {table} AS r ON r.tag = $2
WHERE s.generation = $1 ORDER BY r.id
"""
_IDS_TAGGED = """
SELECT s.position, r.id, r.tag FROM view_sets AS s
LEFT JOIN LATERAL (
    SELECT id, tag FROM {table} WHERE tag = ANY($2::text[]) LIMIT $3::bigint
) AS r ON true
WHERE s.generation = $1
"""
_TAGS = """
SELECT s.position, r.id, r.tag FROM view_sets AS s LEFT JOIN LATERAL (
    SELECT id, tag FROM {table} WHERE id > $2 AND tag IS NOT NULL ORDER BY id LIMIT $3
) AS r ON true
WHERE s.generation = $1 ORDER BY r.id
"""
_ALL = """
SELECT s.position, r.id, r.row FROM view_sets AS s LEFT JOIN {table} AS r ON true
WHERE s.generation = $1 ORDER BY r.id
"""
