"""What the event log tells of one search, while it runs."""

import asyncio
from typing import NamedTuple

import asyncpg


class Stored(NamedTuple):
    """Of the only lookup in the log."""

    verified: int  # mailboxes
    issued: int  # times that its verification was given out


def stored(dsn: str) -> Stored:
    """Return what the log of the database *dsn* holds."""
    return asyncio.run(_stored(dsn))


async def _stored(dsn: str) -> Stored:
    connection = await asyncpg.connect(dsn)
    try:
        row = await connection.fetchrow(_COUNTS)
    finally:
        await connection.close()
    assert row is not None, "counts are one row"
    return Stored(row[0], row[1])


_COUNTS = """
SELECT count(*) FILTER (WHERE topic = 'brand.mailbox-verified.v1'),
       count(*) FILTER (WHERE topic = 'brand.stage-issued.v1'
           AND convert_from(state, 'UTF8')::jsonb ->> 'stage' = 'verification')
FROM stored_events
"""
