"""Views made anew in the database of the running ones (`cs.projections.anew`)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from cs.eventlog.port import RecordedEvent
from cs.postgres.pool import Pool, PooledConnection, connected, transaction
from cs.projections.anew import NotReplayable, StoredRow
from cs.projections.generation import anew_name, generation
from cs.projections.postgres.database import unavailable
from cs.projections.postgres.table_sets import TableSet
from cs.projections.postgres.views import PostgresViews
from cs.projections.projection import Projection, SealBody


class PostgresAnewViews:
    """Made in the database of *pool*; *nonce* tells them from others made there."""

    def __init__(self, pool: Pool, projections: Sequence[Projection], nonce: str) -> None:
        self._pool = pool
        self._projections = projections
        self._running = TableSet(projections)
        name = anew_name(generation(projections), nonce)
        self._tables = TableSet(projections, name)
        self.views = PostgresViews(pool, projections, name=name)

    async def close(self) -> None:
        await self.views.close()

    async def clear(self) -> None:
        with unavailable():
            async with connected(self._pool) as connection:
                names = await self._running.anew(connection)
            for name in names:
                if name != self._tables.names.generation:
                    async with transaction(self._pool) as connection:
                        await TableSet(self._projections, name).drop(connection)

    async def check_rights(self) -> None:
        await self.views.position()  # makes the tables
        with unavailable():
            async with connected(self._pool) as connection:
                others = await connection.fetchval(
                    _OTHER_RIGHTS, self._running.names.tables, self._tables.names.tables
                )
        if others:
            raise NotReplayable(
                f"the tables of the views belong to {others}, or have grants that new ones "
                "would not have: use the login of cs project; --dry-run compares all the same"
            )

    @asynccontextmanager
    async def running(self) -> AsyncIterator["_RowsInDatabase"]:
        with unavailable():
            async with (
                connected(self._pool) as connection,
                connection.transaction(isolation="repeatable_read", readonly=True),
            ):
                # Before the snapshot is taken: in it, tables emptied later would look empty.
                tables = ", ".join(self._running.names.tables)
                await connection.execute(f"LOCK TABLE {tables} IN ACCESS SHARE MODE")
                position = await connection.fetchval(_POSITION, self._running.names.generation)
                yield _RowsInDatabase(connection, self._running, position or 0)

    async def page(self, table: str, after: str, limit: int) -> Sequence[StoredRow]:
        with unavailable():
            async with connected(self._pool) as connection:
                return await _page(connection, self._tables, table, after, limit)

    async def take_place(self, page: Sequence[RecordedEvent], seal: SealBody) -> bool:
        return await self.views.take_place(self._running, page, seal)

    async def discard(self) -> None:
        await self.views.drop()


class _RowsInDatabase:
    """Rows as a transaction sees them (`cs.projections.anew.RowsAt`)."""

    def __init__(self, connection: PooledConnection, tables: TableSet, position: int) -> None:
        self._connection = connection
        self._tables = tables
        self.position = position

    async def page(self, table: str, after: str, limit: int) -> Sequence[StoredRow]:
        return await _page(self._connection, self._tables, table, after, limit)


async def _page(
    connection: PooledConnection, tables: TableSet, table: str, after: str, limit: int
) -> Sequence[StoredRow]:
    statement = _PAGE.format(table=tables.names.table(table))
    return [StoredRow(*row) for row in await connection.fetch(statement, after, limit)]


_POSITION = "SELECT position FROM view_sets WHERE generation = $1"
_OTHER_RIGHTS = """
SELECT string_agg(DISTINCT pg_get_userbyid(a.relowner), ', ')
FROM unnest($1::text[], $2::text[]) AS t(ours, theirs)
JOIN pg_class AS a ON a.oid = to_regclass(ours)
JOIN pg_class AS b ON b.oid = to_regclass(theirs)
WHERE (a.relowner, a.relacl::text) IS DISTINCT FROM (b.relowner, b.relacl::text)
"""
_PAGE = "SELECT id, tag, row FROM {table} WHERE id > $1 ORDER BY id LIMIT $2"
