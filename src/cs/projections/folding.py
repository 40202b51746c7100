"""Applying a page to rows that are far away: few questions, each for many rows.

A projection asks for its rows one by one, and at once.  So a page is applied to what is
here; an event that needs a row which is not is put off, and the others go on, so that all
they lack is known too.  What is lacking is fetched, and the page begins again.  The round
that lacked nothing is the answer: it is what one by one would have given.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress

from cs.eventlog.port import Recorded
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows

#: Gives the rows of a table by id, those that there are.
Fetch = Callable[[str, Collection[str]], Awaitable[Mapping[str, bytes]]]


class _Lacking(Exception):
    """A row is asked for that was not fetched yet."""


class _Fetched:
    """Rows that are here, and which were asked for in vain."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], bytes | None] = {}
        self.lacking: dict[str, set[str]] = {}

    def row(self, table: str, row_id: str) -> bytes | None:
        place = (table, row_id)
        if place not in self._rows:
            self.lacking.setdefault(table, set()).add(row_id)
            raise _Lacking
        return self._rows[place]

    async def fill(self, fetch: Fetch) -> None:
        lacking, self.lacking = self.lacking, {}
        for table, ids in lacking.items():
            found = await fetch(table, ids)
            for row_id in ids:
                self._rows[table, row_id] = found.get(row_id)


async def folded(
    projections: Sequence[Projection], page: Sequence[Recorded], seal: SealBody, fetch: Fetch
) -> Rows:
    """Return the rows after *page*, read by way of *fetch*; the work is done in a thread."""
    fetched = _Fetched()
    while True:
        rows = await asyncio.to_thread(_round, projections, page, seal, fetched)
        if not fetched.lacking:
            return rows
        await fetched.fill(fetch)


def _round(
    projections: Sequence[Projection],
    page: Sequence[Recorded],
    seal: SealBody,
    fetched: _Fetched,
) -> Rows:
    rows = Rows(fetched)
    for recorded in page:
        for projection in projections:
            with suppress(_Lacking):
                projection.apply(rows, recorded, seal)
    return rows
