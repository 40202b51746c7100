"""Views in PostgreSQL, for any number of runners and readers.

A page is one transaction: it holds the checkpoint's row, so that one runner at a time applies
one, and a page that was overtaken is left alone.  Its commit is notified on `CHANNEL`.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import TypeVar

import asyncpg
import msgspec
from structlog import get_logger

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.postgres.errors import Fenced
from cs.postgres.listening import POLL_S, Listener
from cs.postgres.lock_retry import retry_while_locked
from cs.postgres.pool import Pool, PooledConnection
from cs.projections.generation import (
    GRACE_S,
    NO_COPIES,
    CopiedRows,
    Generation,
    after_copies,
)
from cs.projections.port import Changed, check_since, following_on, named
from cs.projections.postgres.database import ViewDatabase, unavailable
from cs.projections.postgres.folding import folded, folded_late
from cs.projections.postgres.stored_rows import RowReader, RowsById, write_rows
from cs.projections.postgres.table_sets import TableSet
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import ChangedRow, Rows, Table
from cs.projections.set_aside import ASIDE, SET_ASIDE, TakeUp

log = get_logger()

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")

CHANNEL = "cs_views"
#: How often a reader notes that it uses its tables, and a runner looks for unused ones.
NOTE_EVERY_S = 600.0


class PostgresViews:
    """`cs.projections.port.Views` on *pool*; nothing is connected until it is used.

    Args:
        name: Of tables that are made anew beside the running ones.
        grace_s: How long tables of another generation stay that nobody uses.
    """

    def __init__(
        self,
        pool: Pool,
        projections: Sequence[Projection],
        *,
        name: str | None = None,
        grace_s: float = GRACE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._projections = projections
        self._grace_s = grace_s
        self._monotonic = monotonic
        self._set = TableSet(projections, name)
        self._database = ViewDatabase(pool, self._set)
        self._rows = RowReader(self._database, self._set.names)
        self._noted_at: float | None = None
        self._retired_at: float | None = None
        self._listener = Listener(pool, CHANNEL)
        self._looked: tuple[object, int] | None = (
            None  # by which connection, and the checkpoint
        )
        self._pool = pool

    async def position(self) -> int:
        async with self._database.reading() as connection:
            return await self._position(connection)

    async def last_event(self) -> str:
        async with self._database.reading() as connection:
            name: str | None = await connection.fetchval(
                _LAST_EVENT, self._set.names.generation
            )
        return name or ""

    async def edition(self) -> int:
        async with self._database.reading() as connection:
            return await self._set.edition(connection)

    async def moved(self, after: int) -> int:
        with unavailable():
            listening = await self._listener.connect()  # before the look, or a move is missed
        position = self._notified_position()
        # Who listens since the last look, and was notified of nothing, need not look again.
        if position is None and self._looked != (listening, after):
            position = await self.position()
        if position is None or position <= after:
            await self._note_use()
            with unavailable():
                notified = await self._listener.wait(POLL_S)
                if not notified:
                    await self._listener.check()
            position = self._notified_position() if notified else None
            if position is None:
                position = await self.position()
        self._looked = (listening, position)
        return position

    def _notified_position(self) -> int | None:
        """Return the checkpoint that was notified since the last look, if it is of ours.

        One of another version's views may have taken the place of ours: then look again.
        """
        payload = self._listener.take_payload()
        if payload is None:
            return None
        self._looked = None
        generation, _, position = payload.rpartition(" ")
        return int(position) if generation == self._set.names.generation else None

    async def apply(
        self, page: Sequence[RecordedEvent], seal: SealBody, epoch: int | None = None
    ) -> int:
        try:
            async with self._database.changing() as connection:
                return await self._apply(connection, page, seal, epoch)
        except LogUnavailable:
            if self._database.made:
                raise
        except msgspec.MsgspecError as error:
            await self._begin_anew(error)
        return await self.position()  # made anew: by the checkpoint it is 0

    async def _apply(
        self,
        connection: PooledConnection,
        page: Sequence[RecordedEvent],
        seal: SealBody,
        epoch: int | None,
    ) -> int:
        held = await connection.fetchrow(_HOLD_TO_MOVE, self._set.names.generation)
        if held is None:
            raise asyncpg.UndefinedTableError("the checkpoint is gone")
        checkpoint: int = held["position"]
        if epoch is not None and epoch < held["epoch"]:
            raise Fenced(f"the views were written under lease {held['epoch']}, not {epoch}")
        new = following_on(page, checkpoint)
        changes: Iterable[ChangedRow] = ()
        if new:
            changes = (await self._folded(connection, new, seal)).changes()
            checkpoint = new[-1].position
        elif epoch is None or epoch == held["epoch"]:
            return checkpoint
        generation = self._set.names.generation
        last_event = named(new[-1]) if new else held["last_event"]
        await write_rows(
            connection,
            self._set.names,
            changes,
            *(generation, checkpoint, last_event, epoch or 0),
            *(CHANNEL, f"{generation} {checkpoint}"),
            first=_MOVED,
            last=_NOTIFY,
        )
        return checkpoint

    async def _folded(
        self, connection: PooledConnection, new: Sequence[RecordedEvent], seal: SealBody
    ) -> Rows:
        # A statement of its own: one that waited for the checkpoint's row saw what was before.
        statement = _BESIDE.format(table=self._set.names.table(ASIDE.name))
        found = await connection.fetch(statement, SET_ASIDE, self._set.names.generation)
        set_aside = [row_id for row_id, *_ in found if row_id is not None]
        copies = [CopiedRows(*copied) for row_id, *copied in found if row_id is None]
        projections = after_copies(self._projections, copies[0] if copies else NO_COPIES)
        fetch = RowsById(connection, self._set.names)
        return await folded(projections, new, seal, fetch, set_aside)

    async def take_place(
        self, running: TableSet, page: Sequence[RecordedEvent], seal: SealBody
    ) -> bool:
        """Exchange these rows with those of *running*, if *page* brings them to its checkpoint.

        To be retried while somebody uses the tables for long: nobody waits behind this.

        Returns:
            Whether that was done; else the running ones are as they were.
        """
        done = False

        async def exchange(connection: PooledConnection) -> None:
            nonlocal done
            held = await connection.fetchrow(_HOLD, running.names.generation)
            if held is None:
                return
            missing = [each for each in page if each.position <= held["position"]]
            reached = await self._apply(connection, missing, seal, None)
            if reached == held["position"]:
                await running.exchange(connection, self._set)
                done = True

        with unavailable():
            await retry_while_locked(self._pool, exchange)
        return done

    async def drop(self) -> None:
        """Drop these tables."""
        async with self._database.changing() as connection:
            await self._set.drop(connection)

    async def take_up(self, late: TakeUp, seal: SealBody, epoch: int | None = None) -> bool:
        try:
            async with self._database.changing() as connection:
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
        projections = after_copies(self._projections, await self._set.copies(connection))
        rows = await folded_late(projections, late, seal, RowsById(connection, self._set.names))
        if rows is None:
            return False
        await write_rows(connection, self._set.names, rows.changes())
        return True

    async def ahead(self, newer: Sequence[RecordedEvent], seal: SealBody) -> Changed:
        try:
            async with self._database.changing() as connection:
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
        return await self._readable(self._rows.get(table, row_id, since))

    async def get_at(self, table: Table[R], row_id: str) -> tuple[int, R | None]:
        return await self._readable(self._rows.get_at(table, row_id))

    async def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        return await self._readable(self._rows.tagged(table, tag, since))

    async def ids_tagged(
        self,
        table: Table[R],
        tags: Collection[str],
        since: int = 0,
        *,
        limit: int | None = None,
    ) -> list[tuple[str, str]]:
        return await self._rows.ids_tagged(table, tags, since, limit)

    async def tags(
        self, table: Table[R], after: str, limit: int, since: int = 0
    ) -> list[tuple[str, str]]:
        return await self._rows.tags(table, after, limit, since)

    async def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        return await self._readable(self._rows.all(table, since))

    async def reset(self) -> None:
        async with self._database.changing() as connection:
            await self._set.empty(connection)

    async def others(self) -> Sequence[Generation]:
        async with self._database.reading() as connection:
            return await self._set.others(connection)

    async def copy_from(self, other: Generation, epoch: int | None = None) -> CopiedRows:
        try:
            async with self._database.changing() as connection:
                return await self._set.copy_from(connection, other.name, epoch)
        except asyncpg.PostgresError as error:  # tables of theirs that cannot be read, say
            why = f"the rows of {other.name} cannot be copied: {error}"
            raise LogUnavailable(why) from error

    async def copies(self) -> CopiedRows:
        async with self._database.reading() as connection:
            return await self._set.copies(connection)

    async def retire(self) -> None:
        now = self._monotonic()
        if self._retired_at is not None and now - self._retired_at < NOTE_EVERY_S:
            return
        self._retired_at = now
        async with self._database.changing() as connection:
            for retired in await self._set.retire_others(connection, self._grace_s):
                log.info("views_retired", generation=retired)

    async def close(self) -> None:
        await self._listener.close()

    async def _readable(self, reading: Awaitable[T]) -> T:
        """Return what *reading* gives; a damaged row empties the views."""
        try:
            return await reading
        except msgspec.MsgspecError as error:
            raise await self._begin_anew(error) from error

    async def _begin_anew(self, damage: msgspec.MsgspecError) -> LogUnavailable:
        """Empty the views, a row of which cannot be read; return what to raise for it."""
        log.warning("views_damaged", error=str(damage))
        await self.reset()
        return LogUnavailable("the views were damaged; they are made anew from the log")

    async def _position(self, connection: PooledConnection) -> int:
        position: int | None = await connection.fetchval(_POSITION, self._set.names.generation)
        return position or 0

    async def _note_use(self) -> None:
        now = self._monotonic()
        if self._noted_at is None or now - self._noted_at >= NOTE_EVERY_S:
            async with self._database.changing() as connection:
                await self._set.used(connection)
            self._noted_at = now


_POSITION = "SELECT position FROM view_sets WHERE generation = $1"
_LAST_EVENT = "SELECT last_event FROM view_sets WHERE generation = $1"
_HOLD = "SELECT position, last_event, epoch FROM view_sets WHERE generation = $1 FOR UPDATE"
# The commit is not waited for: what is lost with the machine is applied again.
_HOLD_TO_MOVE = """
SELECT position, last_event, epoch, set_config('synchronous_commit', 'off', true)
FROM view_sets WHERE generation = $1 FOR UPDATE
"""
_MOVED = """moved AS (
    UPDATE view_sets
    SET position = $2, last_event = $3, epoch = GREATEST(epoch, $4), used_at = now()
    WHERE generation = $1
)"""
_NOTIFY = "SELECT pg_notify($5, $6)"
_ONE_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_LOCK = "LOCK TABLE {tables} IN ACCESS SHARE MODE"
# Ids of what is set aside, and in a row without one what these rows began with.
_BESIDE = """
SELECT id, NULL::text[] AS projections, NULL::bigint AS position, NULL::text AS last_event
FROM {table} WHERE tag = $1
UNION ALL
SELECT NULL, projections, position, last_event FROM view_copies WHERE generation = $2
"""
