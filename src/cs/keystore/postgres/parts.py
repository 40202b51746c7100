"""New tables in the place of parts of ``data_key`` that keys were destroyed in.

A page keeps the bytes of a row that was changed, and so does a part that is vacuumed while
any transaction is open that could have seen the row; a new table has what is there now and
nothing else (docs/decisions/0018).  The server's own write-ahead log holds them, wrapped,
until it is recycled, and so does a backup until it is thrown away (docs/operations.md).
"""

import asyncio
from collections.abc import Iterable
from functools import partial
from secrets import token_hex

import asyncpg

from cs.keystore.errors import KeysUnavailable
from cs.keystore.postgres.database import writing
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.lock_retry import WRITE_ANEW_S, retry_while_locked
from cs.postgres.pool import Pool, PooledConnection


async def replace_parts(pool: Pool, destroyed: Iterable[asyncpg.Record]) -> None:
    """Replace each part that is the ``part`` of one of *destroyed*.

    Raises:
        KeysUnavailable: Some may not be replaced yet.
    """
    parts = sorted({row["part"] for row in destroyed})
    if not parts:
        return
    try:
        async with asyncio.timeout(WRITE_ANEW_S):
            for part in parts:
                await retry_while_locked(pool, partial(_replace, part))
            await retry_while_locked(pool, _drop_replaced)
    except (DatabaseUnavailable, TimeoutError) as error:
        why = str(error) or "a transaction on the table does not end (pg_stat_activity)"
        raise KeysUnavailable(
            f"destroyed keys may linger in the key store: {why}; erase again"
        ) from error


async def replace_every_part(pool: Pool) -> None:
    """Do as `replace_parts` with all there are."""
    async with writing(pool) as connection:
        parts = await connection.fetch(_PARTS)
    await replace_parts(pool, parts)


async def _replace(part: str, connection: PooledConnection) -> None:
    """Put a copy of *part* in its place.

    Writers wait while it is copied; readers only from the exchange to the commit.
    """
    await connection.execute("LOCK TABLE ONLY data_key IN SHARE ROW EXCLUSIVE MODE")
    bound = await connection.fetchval(_BOUND, part)
    if bound is None:
        return  # another process has replaced it, after the keys were destroyed
    # Another name: a dump that read the old one's finds nothing, instead of no rows.
    new = f"{'_'.join(part.split('_')[:3])}_{token_hex(4)}"
    await connection.execute(f"CREATE TABLE {new} (LIKE {part} INCLUDING ALL)")
    await connection.execute(f"INSERT INTO {new} SELECT * FROM {part}")  # noqa: S608
    await connection.execute(f"ALTER TABLE data_key DETACH PARTITION {part}")
    await connection.execute(f"ALTER TABLE data_key ATTACH PARTITION {new} {bound}")


async def _drop_replaced(connection: PooledConnection) -> None:
    """Drop what was replaced, also by a process that ended before it did so."""
    for row in await connection.fetch(_REPLACED):
        await connection.execute(f"DROP TABLE IF EXISTS {row['part']}")


_PARTS = """
SELECT inhrelid::regclass::text AS part FROM pg_inherits WHERE inhparent = 'data_key'::regclass
"""
_BOUND = """
SELECT pg_get_expr(relpartbound, oid) FROM pg_class
WHERE oid = to_regclass($1) AND relispartition
"""
_REPLACED = """
SELECT oid::regclass::text AS part FROM pg_class
WHERE relkind = 'r' AND NOT relispartition AND relname ~ '^data_key_[0-9]+(_|$)'
AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'data_key'::regclass)
"""
