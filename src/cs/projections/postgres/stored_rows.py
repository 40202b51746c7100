"""Rows in the tables of a generation: read by many at once, and written."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import asyncpg
import msgspec

from cs.eventlog.read_batches import SIDE_BY_SIDE, ReadBatches
from cs.postgres.pool import PooledConnection
from cs.projections.generation import TableNames
from cs.projections.port import check_since
from cs.projections.postgres.database import ViewDatabase
from cs.projections.rows import ChangedRow, Table

R = TypeVar("R", bound=msgspec.Struct)


class RowReader:
    """Reads rows together with the checkpoint.

    Raises:
        LogUnavailable: From every method: they cannot be read now, or are behind ``since``.
        msgspec.MsgspecError: A row is damaged.
    """

    def __init__(self, database: ViewDatabase, names: TableNames) -> None:
        self._database = database
        self._names = names
        self._batches = ReadBatches[tuple[str, str], tuple[int, bytes | None]](
            self._get_all, SIDE_BY_SIDE
        )

    async def get(self, table: Table[R], row_id: str, since: int) -> R | None:
        position, row = await self.get_at(table, row_id)
        check_since(position, since)
        return row

    async def _get_all(
        self, asked: Sequence[tuple[str, str]]
    ) -> Sequence[tuple[int, bytes | None]]:
        """Return the checkpoint and the row of each (table, id), a statement for each table."""
        found: dict[tuple[str, str], tuple[int, bytes | None]] = {}
        async with self._database.reading() as connection:
            for table in {table for table, _ in asked}:
                statement = _GET_ALL.format(table=self._names.table(table))
                ids = list({row_id for of, row_id in asked if of == table})
                rows = await connection.fetch(statement, self._names.generation, ids)
                found |= {(table, row["id"]): (row["position"], row["row"]) for row in rows}
        return [found.get(each, (0, None)) for each in asked]

    async def get_at(self, table: Table[R], row_id: str) -> tuple[int, R | None]:
        """Return the checkpoint and a row of the same moment."""
        position, data = await self._batches.ask((table.name, _readable(row_id)))
        return position, None if data is None else table.decode(data)

    async def tagged(self, table: Table[R], tag: str, since: int) -> list[tuple[str, R]]:
        return await self._decoded(_TAGGED, table, since, tag)

    async def all(self, table: Table[R], since: int) -> list[tuple[str, R]]:
        return await self._decoded(_ALL, table, since)

    async def ids_tagged(
        self, table: Table[R], tags: Collection[str], since: int, limit: int | None
    ) -> list[tuple[str, str]]:
        return await self._ids_and_tags(_IDS_TAGGED, table, since, list(tags), limit)

    async def tags(
        self, table: Table[R], after: str, limit: int, since: int
    ) -> list[tuple[str, str]]:
        return await self._ids_and_tags(_TAGS, table, since, after, limit)

    async def _decoded(
        self, statement: str, table: Table[R], since: int, *values: str
    ) -> list[tuple[str, R]]:
        found = await self._fetch(statement, table, since, *values)
        return [(row["id"], table.decode(row["row"])) for row in found]

    async def _ids_and_tags(
        self, statement: str, table: Table[R], since: int, *values: object
    ) -> list[tuple[str, str]]:
        found = await self._fetch(statement, table, since, *values)
        return [(row["id"], row["tag"]) for row in found]

    async def _fetch(
        self, statement: str, table: Table[R], since: int, *values: object
    ) -> Sequence[asyncpg.Record]:
        found = await self._with_checkpoint(statement, table, *values)
        check_since(found[0]["position"] if found else 0, since)
        return [row for row in found if row["id"] is not None]

    async def _with_checkpoint(
        self, statement: str, table: Table[R], *values: object
    ) -> Sequence[asyncpg.Record]:
        statement = statement.format(table=self._names.table(table.name))
        async with self._database.reading() as connection:
            return await connection.fetch(statement, self._names.generation, *values)


def _readable(row_id: str) -> str:
    """Return *row_id* if it can be one: no text there has a NUL, and no row an empty id."""
    return "" if "\0" in row_id else row_id


class RowsById:
    """Gives rows by id, one statement for all (`cs.projections.postgres.folding.Fetch`)."""

    def __init__(self, connection: PooledConnection, names: TableNames) -> None:
        self._connection = connection
        self._names = names

    async def __call__(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[tuple[str, str], bytes]:
        tables = sorted(wanted)
        statement = " UNION ALL ".join(
            _ROWS.format(of=table, table=self._names.table(table), ids=n)
            for n, table in enumerate(tables, 1)
        )
        found = await self._connection.fetch(statement, *(list(wanted[t]) for t in tables))
        return {(row["of"], row["id"]): row["row"] for row in found}


async def write_rows(
    connection: PooledConnection,
    names: TableNames,
    changes: Iterable[ChangedRow],
    *arguments: object,
    first: str = "",
    last: str = "SELECT true",
) -> None:
    """Write *changes*, all in one statement.

    Args:
        connection: In a transaction.
        names: Of the tables.
        changes: Each row once.
        arguments: Those of *first* and *last*.
        first: A step before them, named, as after ``WITH``.
        last: What follows the steps.
    """
    columns: dict[str, tuple[list[str], list[str | None], list[bytes]]] = {}
    for table, row_id, tag, data in changes:
        ids, tags, written = columns.setdefault(table, ([], [], []))
        ids.append(row_id)
        tags.append(tag)
        written.append(data)
    steps, given = [first] if first else [], list(arguments)
    for table in sorted(columns):  # so that there are few statements, and they are prepared
        at = len(given) + 1
        written_to = names.table(table)
        steps.append(_WRITE.format(table=written_to, ids=at, tags=at + 1, rows=at + 2))
        given += columns[table]
    if steps:
        await connection.execute(f"WITH {', '.join(steps)} {last}", *given)


_ROWS = "SELECT '{of}' AS of, id, row FROM {table} WHERE id = ANY(${ids}::text[])"
_WRITE = """in_{table} AS (
    INSERT INTO {table} (id, tag, row)
    SELECT * FROM unnest(${ids}::text[], ${tags}::text[], ${rows}::bytea[])
    ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, row = excluded.row
)"""
_GET_ALL = """
SELECT s.position, asked.id, r.row
FROM view_sets AS s CROSS JOIN unnest($2::text[]) AS asked (id)
LEFT JOIN {table} AS r ON r.id = asked.id
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
