"""Views in PostgreSQL, for any number of processes that write and read them.

A page is one transaction: it holds the checkpoint's row, so that one process at a time applies
one, and a page that was overtaken is left alone.  Its commit is notified on `CHANNEL`.

The tables are logged, not UNLOGGED: those are empty after a crash or a failover, and until the
whole log was replayed no call could be answered.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from cs.eventlog.errors import LogUnavailable
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.listening import POLL_S, Listener
from cs.postgres.pool import Pool, PooledConnection, connected
from cs.projections.builds import Build
from cs.projections.port import BuildGone, Session
from cs.projections.projection import Projection
from cs.projections.rows import ChangedRow
from cs.projections.views import GRACE_S, Views
from cs.runtime.batcher import Batcher

T = TypeVar("T")

CHANNEL = "cs_views"
#: Single rows that one statement reads.
_READS = 64
#: Such statements at a time.  A connection may hang: fewer would make all wait for it, more
#: would make each statement smaller.
_READERS = 2
#: Of ``pg_advisory_xact_lock``: one at a time makes or drops tables.
_LOCK = 0x63735F76
#: Another process holds what we need, or dropped what we use, just now.
_IN_THE_WAY = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)
_LOST = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError)


def postgres_views(
    pool: Pool, projections: Sequence[Projection], *, grace_s: float = GRACE_S
) -> Views:
    """Return views in the database of *pool*; nothing is connected until they are used."""
    return Views(PostgresViewDatabase(pool), projections, grace_s=grace_s)


class _PooledSession:
    """`cs.projections.port.Session` on a connection of the pool."""

    in_thread = False

    def __init__(self, connection: PooledConnection) -> None:
        self._connection = connection

    async def fetch(self, statement: str, *values: object) -> Sequence[Any]:
        return await self._connection.fetch(statement, *values)

    async def write(self, build: Build, changes: Iterable[ChangedRow]) -> None:
        """Write all rows in one statement."""
        columns: dict[str, tuple[list[str], list[str | None], list[bytes]]] = {}
        for table, row_id, tag, data in changes:
            ids, tags, rows = columns.setdefault(build.table(table), ([], [], []))
            ids.append(row_id)
            tags.append(tag)
            rows.append(data)
        steps: list[str] = []
        given: list[object] = []
        for table in sorted(columns):  # so that there are few statements, and they are prepared
            at = len(given) + 1
            steps.append(_WRITE.format(table=table, ids=at, tags=at + 1, rows=at + 2))
            given += columns[table]
        if steps:
            await self._connection.execute(f"WITH {', '.join(steps)} SELECT true", *given)

    async def lock(self) -> None:
        await self._connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)

    async def tables(self) -> set[str]:
        return {row["relname"] for row in await self._connection.fetch(_TABLES)}

    async def other_rights(
        self, build: Build, other: Build, names: Sequence[str]
    ) -> str | None:
        tables = [[each.table(name) for name in names] for each in (build, other)]
        owners: str | None = await self._connection.fetchval(_OTHER_RIGHTS, *tables)
        return owners


class PostgresViewDatabase:
    """`cs.projections.port.ViewDatabase` on *pool*."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._listener = Listener(pool, CHANNEL)
        #: By which connection the checkpoint was read last, and what it was.
        self._looked: tuple[object, int] | None = None
        self._batches = Batcher[tuple[Build, str, str], tuple[int, bytes | None]](
            self._rows, size=_READS, lanes=_READERS
        )

    async def run(self, work: Callable[[Session], Awaitable[T]], *, writing: bool = False) -> T:
        async with self._connected() as connection:
            one_moment = connection.transaction(isolation="repeatable_read", readonly=True)
            async with connection.transaction() if writing else one_moment:
                return await work(_PooledSession(connection))

    async def fetch(self, statement: str, *values: object) -> Sequence[Any]:
        async with self._connected() as connection:
            return await connection.fetch(statement, *values)

    async def row(self, build: Build, table: str, row_id: str) -> tuple[int, bytes | None]:
        # No text there has a NUL, and no row an empty id.
        row_id = "" if "\0" in row_id else row_id
        return await self._batches.submit((build, table, row_id))

    async def _rows(
        self, asked: Sequence[tuple[Build, str, str]]
    ) -> Sequence[tuple[int, bytes | None] | Exception]:
        """Return the checkpoint and the row of each, with one statement for each table."""
        found: dict[tuple[str, str], tuple[int, bytes | None]] = {}
        for build, table in {(build, table) for build, table, _ in asked}:
            ids = list({row_id for _, of, row_id in asked if of == table})
            with suppress(BuildGone):  # readers of a row of it get that answer
                rows = await self.fetch(_GET.format(table=table), *build, ids)
                found |= {(table, row["id"]): (row["position"], row["row"]) for row in rows}
        return [found.get((table, row_id)) or BuildGone() for _, table, row_id in asked]

    async def moved(self, look: Callable[[], Awaitable[int]], after: int, build: str) -> int:
        with _unavailable():
            listening = await self._listener.connect()  # before the look, or a move is missed
        position = self._notified(build)
        # Who listens since the last look, and was notified of nothing, need not look again.
        if position is None and self._looked != (listening, after):
            position = await look()
        if position is None or position <= after:
            with _unavailable():
                notified = await self._listener.wait(POLL_S)
                if not notified:
                    await self._listener.check()
            position = self._notified(build) if notified else None
            if position is None:
                position = await look()
        self._looked = (listening, position)
        return position

    def _notified(self, build: str) -> int | None:
        """Return the checkpoint that was notified since the last look, if it is of *build*.

        One of another build may have taken the place of it: then look again.
        """
        payload = self._listener.take_payload()
        if payload is None:
            return None
        self._looked = None
        of, _, position = payload.rpartition(" ")
        return int(position) if of == build else None

    async def close(self) -> None:
        await self._listener.close()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[PooledConnection]:
        with _unavailable():
            async with connected(self._pool) as connection:
                yield connection


@contextmanager
def _unavailable() -> Iterator[None]:
    """Turn what PostgreSQL cannot do now into `LogUnavailable`."""
    try:
        yield
    except DatabaseUnavailable as error:
        raise LogUnavailable(f"the views cannot be used: {error}") from error
    except _IN_THE_WAY as error:
        raise LogUnavailable(f"the views are in use: {error}") from error
    except _LOST as error:
        raise BuildGone(str(error)) from error


_TABLES = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND starts_with(relname, 'view_') AND pg_table_is_visible(oid)
"""
_OTHER_RIGHTS = """
SELECT string_agg(DISTINCT pg_get_userbyid(a.relowner), ', ')
FROM unnest($1::text[], $2::text[]) AS t(ours, theirs)
JOIN pg_class AS a ON a.oid = to_regclass(ours)
JOIN pg_class AS b ON b.oid = to_regclass(theirs)
WHERE (a.relowner, a.relacl::text) IS DISTINCT FROM (b.relowner, b.relacl::text)
"""
_GET = """
SELECT s.position, asked.id, r.row
FROM view_builds AS s CROSS JOIN unnest($3::text[]) AS asked (id)
LEFT JOIN {table} AS r ON r.id = asked.id
WHERE s.version = $1 AND s.build = $2
"""
_WRITE = """in_{table} AS (
    INSERT INTO {table} (id, tag, row)
    SELECT * FROM unnest(${ids}::text[], ${tags}::text[], ${rows}::bytea[])
    ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, row = excluded.row
)"""
