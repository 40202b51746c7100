"""New tables in the place of parts of ``data_key`` that keys were destroyed in."""

from collections.abc import Collection, Iterable

import asyncpg

from cs.keystore.errors import KeysUnavailable
from cs.postgres import parts
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool

_TABLE = "data_key"


async def replace_parts(pool: Pool, destroyed: Iterable[asyncpg.Record]) -> None:
    """Replace each part that is the ``part`` of one of *destroyed*.

    Raises:
        KeysUnavailable: Some may not be replaced yet.
    """
    await _replace(pool, [row["part"] for row in destroyed])


async def replace_every_part(pool: Pool) -> None:
    """Do as `replace_parts` with all there are."""
    try:
        every = await parts.every_part(pool, _TABLE)
    except DatabaseUnavailable as error:
        raise KeysUnavailable(f"the key store: {error}") from error
    await _replace(pool, every)


async def _replace(pool: Pool, names: Collection[str]) -> None:
    if not names:
        return
    try:
        await parts.replace_parts(pool, _TABLE, names)
    except DatabaseUnavailable as error:
        raise KeysUnavailable(
            f"destroyed keys may linger in the key store: {error}; erase again"
        ) from error
