"""Lists, as they are at the end of the log, also while the views are behind it.

A reader waits a moment for the views, then applies what they lack in memory.  Who asks for
one search waits for nothing of anybody else (`cs.projections.newer_rows`).
"""

import asyncio
from operator import itemgetter
from typing import TypeVar

import msgspec

from cs.eventlog.damage import read_past
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import EventLog
from cs.projections.follower import Follower
from cs.projections.rows import Table
from cs.projections.views import Changed, Views

R = TypeVar("R", bound=msgspec.Struct)

#: How long the views are waited for before their rows are advanced in memory.
WAIT_S = 0.5
#: Events applied in memory for one answer; further behind, the answer waits.
AHEAD = 5_000
#: How long it waits at most.
PATIENCE_S = 4.0


class Basis(msgspec.Struct, frozen=True):
    """What one answer rests on: views that reflect *since*, and rows newer than theirs."""

    since: int
    newer: Changed


class CurrentRows:
    """Reads rows of *views* that reflect the whole log, as it was when `basis` was called."""

    def __init__(self, events: EventLog, views: Views, follower: Follower) -> None:
        self._events = events
        self._views = views
        self._follower = follower

    async def basis(self) -> Basis:
        """Wait for the views; make ready the rows that they still lack."""
        head = await self._events.head()
        waited_s = 0.0
        while self._follower.position < head:
            if waited_s >= PATIENCE_S:
                raise self._behind(head)
            try:
                async with asyncio.timeout(WAIT_S):
                    await self._follower.reached(head)
            except TimeoutError:
                waited_s += WAIT_S
                if head - self._follower.position <= AHEAD:
                    return await self._ahead(head)
        return Basis(head, {})

    async def reached(self, position: int) -> None:
        """Wait for the views to reflect *position*.

        Raises:
            LogUnavailable: It takes too long.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._follower.reached(position)
        except TimeoutError:
            raise self._behind(position) from None

    def _behind(self, position: int) -> LogUnavailable:
        behind = position - self._follower.position
        return LogUnavailable(f"the views are {behind} events behind the log")

    async def _ahead(self, head: int) -> Basis:
        since = self._follower.position
        newer = await read_past(self._events, since, AHEAD)
        if not newer:  # reached meanwhile
            return Basis(head, {})
        while newer[-1].position < head:  # raises, if that is for what comes next
            more = await read_past(self._events, newer[-1].position, AHEAD)
            if not more:
                break
            newer = [*newer, *more]
        return Basis(since, await self._views.ahead(newer, _no_body))

    async def get(self, table: Table[R], row_id: str, basis: Basis) -> R | None:
        data = basis.newer.get((table.name, row_id))
        if data is not None:
            return table.decode(data)
        return await self._views.get(table, row_id, basis.since)

    async def all(self, table: Table[R], basis: Basis) -> list[tuple[str, R]]:
        rows = dict(await self._views.all(table, basis.since))
        for (name, row_id), data in basis.newer.items():
            if name == table.name:
                rows[row_id] = table.decode(data)
        return sorted(rows.items(), key=itemgetter(0))


def _no_body(name: str, body: bytes) -> bytes:
    """Seal nobody: no list shows what a search found."""
    del name, body
    return b""
