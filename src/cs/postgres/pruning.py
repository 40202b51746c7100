"""Removes rows that have had their time, a page at a time, while the service works.

The writer of such a table prunes it.  A page is one statement of some milliseconds that
waits for nothing and blocks nothing; several processes may do it at once.
"""

import asyncio
from collections.abc import Awaitable, Callable

from structlog import get_logger

from cs.postgres.errors import DatabaseUnavailable

log = get_logger()

#: Rows looked at in one go.
PAGE = 1_000
#: Between two pages: a million rows take a quarter of an hour, without being noticed.
PAUSE_S = 1.0
#: Between two times that all was looked at.
EVERY_S = 60.0

#: Looks at a page and removes what is old; returns whether there is another page.
Prune = Callable[[], Awaitable[bool]]


async def prune_forever(
    *tables: Prune, pause_s: float = PAUSE_S, every_s: float = EVERY_S
) -> None:
    """Prune *tables*, now and from time to time, for ever."""
    while True:
        for prune in tables:
            try:
                while await prune():  # noqa: ASYNC110  not waiting: there is more to do
                    await asyncio.sleep(pause_s)
            except DatabaseUnavailable as error:
                log.warning("rows_not_pruned", why=str(error))
        await asyncio.sleep(every_s)
