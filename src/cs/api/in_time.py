"""Bounds on waiting: a caller is answered also while the log or the views are away.

All are seconds of real time, since a log that is away does not go by the service's clock.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from cs.eventlog.port import LogUnavailable

#: For a place among the calls of the same key: 60 may stand before it.
LINE_S = 10.0
#: For deciding on a search and storing it.
ADMIT_S = 5.0
#: For what a stored search is answered with, beyond its hold; then admission answers.
ANSWER_S = 2.0
#: For a status or usage check, its place in line included, and for looking up a key.
READ_S = 5.0


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long each part of a call may take."""

    line_s: float = LINE_S
    admit_s: float = ADMIT_S
    answer_s: float = ANSWER_S
    read_s: float = READ_S


PATIENCE = Patience()


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Bound what is done inside.

    Raises:
        LogUnavailable: It took longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise LogUnavailable(f"no answer within {seconds:g} s") from error
