"""New tables in the place of parts of a partitioned one that rows were taken from.

A page keeps the bytes of a row that was changed, and so does a part that is vacuumed while
any transaction is open that could have seen the row; a new table has what is there now and
nothing else (docs/decisions/0018).  The server's own write-ahead log holds them until it is
recycled, and so does a backup until it is thrown away (docs/operations.md).

A step that locks out others and would have to wait long is given up and tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from secrets import token_hex
from typing import Any

import asyncpg

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, PooledConnection, connected

#: At most so long for all that replaces a table: 5 million data keys are about 1 GiB.
WRITE_ANEW_S = 600
#: How long a step waits for its lock before others go first, and when it tries again.
LOCK_PATIENCE_MS = 100
LOCK_AGAIN_S = 0.5


async def replace_parts(
    pool: Pool,
    table: str,
    parts: Iterable[str],
    *,
    without: str = "false",
    values: Sequence[Any] = (),
) -> None:
    """Replace *parts* of *table*; each is called like it, with a number at its end.

    Args:
        pool: To the database.
        table: The partitioned one.
        parts: One that another process replaces meanwhile is left to that; without any,
            what one that was cut off left behind is dropped.
        without: What is true of the rows that are left out, in SQL with ``$1``...
        values: ... and what stands for those.

    Raises:
        DatabaseUnavailable: Some may not be replaced yet.
    """
    names = sorted(set(parts))
    try:
        async with asyncio.timeout(WRITE_ANEW_S):
            for part in names:
                await retry_while_locked(pool, partial(_replace, table, part, without, values))
            await retry_while_locked(pool, partial(_drop_replaced, table))
    except TimeoutError as error:
        raise DatabaseUnavailable(
            "a transaction on the table does not end (pg_stat_activity)"
        ) from error


async def every_part(pool: Pool, table: str) -> list[str]:
    """Return the names of the parts of *table*.

    Raises:
        DatabaseUnavailable: PostgreSQL is away.
    """
    async with connected(pool) as connection:
        return [row["part"] for row in await connection.fetch(_PARTS, table)]


async def _replace(
    table: str, part: str, without: str, values: Sequence[Any], connection: PooledConnection
) -> None:
    """Put a copy of *part* in its place.

    Writers wait while it is copied; readers only from the exchange to the commit.
    """
    await connection.execute(f"LOCK TABLE ONLY {table} IN SHARE ROW EXCLUSIVE MODE")
    bound = await connection.fetchval(_BOUND, part)
    if bound is None:
        return  # another process has replaced it, after the rows were taken out
    # Another name: a dump that read the old one's finds nothing, instead of no rows.
    (number, *_) = part.removeprefix(f"{table}_").split("_")
    new = f"{table}_{number}_{token_hex(4)}"
    await connection.execute(f"CREATE TABLE {new} (LIKE {part} INCLUDING ALL)")
    kept = f"SELECT * FROM {part} WHERE NOT ({without})"  # noqa: S608
    await connection.execute(f"INSERT INTO {new} {kept}", *values)
    await connection.execute(f"ALTER TABLE {table} DETACH PARTITION {part}")
    await connection.execute(f"ALTER TABLE {table} ATTACH PARTITION {new} {bound}")


async def _drop_replaced(table: str, connection: PooledConnection) -> None:
    """Drop what was replaced, also by a process that ended before it did so."""
    for row in await connection.fetch(_REPLACED, table, f"^{table}_[0-9]+(_|$)"):
        await connection.execute(f"DROP TABLE IF EXISTS {row['part']}")


_PARTS = """
SELECT inhrelid::regclass::text AS part FROM pg_inherits WHERE inhparent = $1::text::regclass
"""
_BOUND = """
SELECT pg_get_expr(relpartbound, oid) FROM pg_class
WHERE oid = to_regclass($1) AND relispartition
"""
_REPLACED = """
SELECT oid::regclass::text AS part FROM pg_class
WHERE relkind = 'r' AND NOT relispartition AND relname ~ $2
AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = $1::text::regclass)
"""


async def retry_while_locked(
    pool: Pool, step: Callable[[PooledConnection], Awaitable[None]]
) -> None:
    """Do *step* in a transaction, again until nothing blocks it.

    Raises:
        DatabaseUnavailable: PostgreSQL is away.
    """
    while True:
        try:
            async with connected(pool) as connection, connection.transaction():
                await connection.execute(_PATIENCE)
                try:
                    await step(connection)
                except asyncpg.LockNotAvailableError:
                    raise _TableLocked from None
        except _TableLocked:
            await asyncio.sleep(LOCK_AGAIN_S)
        else:
            return


class _TableLocked(Exception):
    """Another process uses the table in a way that goes on for longer than others may wait."""


#: A waiter for a lock makes all others wait behind it.
_PATIENCE = f"""
SET LOCAL lock_timeout = {LOCK_PATIENCE_MS}; SET LOCAL statement_timeout = {WRITE_ANEW_S * 1000}
"""
