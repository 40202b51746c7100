"""Views in PostgreSQL, for any number of processes that write and read them.

A page is one transaction: it holds the checkpoint's row, so that one process at a time applies
one, and a page that was overtaken is left alone.  Its commit is notified on `CHANNEL`.

The tables are logged, not UNLOGGED: those are empty after a crash or a failover, and until the
whole log was replayed no call could be answered.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from cs.eventlog.port import LogUnavailable
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.listening import POLL_S, Listener
from cs.postgres.pool import Pool
from cs.postgres.sql import PostgresDatabase
from cs.projections.builds import Build, BuildGone, Wait
from cs.projections.table import Projection
from cs.projections.views import Views
from cs.runtime.batcher import Batcher

CHANNEL = "cs_views"
#: Single rows that one statement reads.
_READS = 64
#: Such statements at a time.  A connection may hang: fewer would make all wait for it, more
#: would make each statement smaller.
_READERS = 2


def postgres_views(pool: Pool, projections: Sequence[Projection]) -> Views:
    """Return views in the database of *pool*; nothing is connected until they are used."""
    return Views(PostgresViewDatabase(pool), projections)


class PostgresViewDatabase(PostgresDatabase):
    """`cs.projections.builds.ViewDatabase` on *pool*."""

    tables = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND starts_with(relname, 'view_') AND pg_table_is_visible(oid)
    """

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, _unavailable)
        self._listener = Listener(pool, CHANNEL)
        self._batches = Batcher[tuple[Build, str, str], tuple[int, bytes | None]](
            self._rows, size=_READS, lanes=_READERS
        )

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

    async def listen(self) -> Wait:
        with _translated():
            await self._listener.connect()
        return self._committed

    async def _committed(self) -> None:
        with _translated():
            if not await self._listener.wait(POLL_S):
                await self._listener.check()

    async def other_rights(
        self, build: Build, other: Build, names: Sequence[str]
    ) -> str | None:
        tables = [[each.table(name) for name in names] for each in (build, other)]
        ((owners,),) = await self.fetch(_OTHER_RIGHTS, *tables)
        found: str | None = owners
        return found

    async def close(self) -> None:
        await self._listener.close()


def _unavailable(error: Exception) -> LogUnavailable:
    if isinstance(error, DatabaseUnavailable):
        return LogUnavailable(f"the views cannot be used: {error}")
    return BuildGone(str(error))


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except DatabaseUnavailable as error:
        raise _unavailable(error) from error


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
