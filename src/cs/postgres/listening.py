"""Hints from PostgreSQL that there is something new to read.

NOTIFY is a hint and nothing more: it is lost with the connection that listens.  So a
reader reads once the listening has begun, after every hint, and from time to time anyway.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from structlog import get_logger

from cs.postgres.pool import CONNECT_TIMEOUT_S, UNAVAILABLE, Pool

log = get_logger()

#: How long to wait for a hint before looking without one.
POLL_S = 1.0


async def hints(pool: Pool, channel: str, *, poll_s: float = POLL_S) -> AsyncIterator[None]:
    """Yield whenever *channel* may have news, for ever: first when the listening begins.

    Takes one connection of *pool* for itself, and another when that one is lost; while
    there is none it yields every *poll_s* all the same.  Hints that come faster than they
    are taken are one.
    """
    while True:
        try:
            async with pool.acquire(timeout=CONNECT_TIMEOUT_S) as connection:
                some = asyncio.Event()
                lost = asyncio.Event()

                def told(*_: object, some: asyncio.Event = some) -> None:
                    some.set()

                def ended(
                    *_: object, some: asyncio.Event = some, lost: asyncio.Event = lost
                ) -> None:
                    lost.set()
                    some.set()

                connection.add_termination_listener(ended)
                await connection.add_listener(channel, told)
                try:
                    yield
                    while not lost.is_set():
                        with suppress(TimeoutError):
                            async with asyncio.timeout(poll_s):
                                await some.wait()
                        some.clear()
                        yield
                finally:
                    with suppress(*UNAVAILABLE):
                        await connection.remove_listener(channel, told)
                    connection.remove_termination_listener(ended)
        except UNAVAILABLE as error:
            log.warning(
                "not_listening", channel=channel, why=str(error) or type(error).__name__
            )
        await asyncio.sleep(poll_s)
        yield
