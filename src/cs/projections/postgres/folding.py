"""Applying a page to rows that are far away: few questions, each for many rows.

A projection asks for its rows one by one, and at once.  So a page is applied to what is
here; an event that needs a row which is not is put off, and the others go on, so that all
they lack is known too.  What is lacking is fetched, and the page begins again.  The round
that lacked nothing is the answer: it is what one by one would have given.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from cs.eventlog.port import RecordedEvent
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows
from cs.projections.set_aside import Fold, TakeUp

T = TypeVar("T")

#: Gives rows by table and id, those that there are, for the ids asked for of each table.
Fetch = Callable[[Mapping[str, Collection[str]]], Awaitable[Mapping[tuple[str, str], bytes]]]
#: A page of so many events is applied where it is: a thread would take longer to begin.
SMALL = 50


class _RowNotFetched(LookupError):
    """A row is asked for that was not fetched yet."""


class _FetchedRows:
    """Rows that are here, and which were asked for in vain."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], bytes | None] = {}
        self.lacking: dict[str, set[str]] = {}

    def row(self, table: str, row_id: str) -> bytes | None:
        row_key = (table, row_id)
        if row_key not in self._rows:
            self.lacking.setdefault(table, set()).add(row_id)
            raise _RowNotFetched
        return self._rows[row_key]

    def excuses(self, error: Exception) -> bool:
        """Return whether *error* may come of rows that are not here yet."""
        return isinstance(error, _RowNotFetched) or bool(self.lacking)

    async def fill(self, fetch: Fetch) -> None:
        lacking, self.lacking = self.lacking, {}
        found = await fetch(lacking)
        for table, ids in lacking.items():
            for row_id in ids:
                self._rows[table, row_id] = found.get((table, row_id))


async def folded(
    projections: Sequence[Projection],
    page: Sequence[RecordedEvent],
    seal: SealBody,
    fetch: Fetch,
    set_aside: Iterable[str] = (),
) -> Rows:
    """Return the rows after *page*, read by way of *fetch*; a thread works at a large one.

    Streams are passed over whose rows in *set_aside* have these ids.
    """
    fetched = _FetchedRows()
    fold = Fold(projections, seal, set_aside, excused=fetched.excuses)

    def page_applied() -> Rows:
        return fold.rows(lambda: Rows(fetched), page)

    return await _in_rounds(page_applied, fetched, fetch, threaded=len(page) > SMALL)


async def folded_late(
    projections: Sequence[Projection], late: TakeUp, seal: SealBody, fetch: Fetch
) -> Rows | None:
    """Return the rows after *late*, as `folded`; ``None`` if its stream is not set aside.

    Raises:
        DamagedEvent: Its events make no sense.
    """
    fetched = _FetchedRows()

    def late_applied() -> Rows | None:
        rows = Rows(fetched)
        with suppress(_RowNotFetched):
            return rows if late.apply(projections, rows, seal, fetched.excuses) else None
        return None

    return await _in_rounds(late_applied, fetched, fetch, threaded=len(late.events) > SMALL)


async def _in_rounds(
    apply: Callable[[], T], fetched: _FetchedRows, fetch: Fetch, *, threaded: bool
) -> T:
    while True:
        applied = await asyncio.to_thread(apply) if threaded else apply()
        if not fetched.lacking:
            return applied
        await fetched.fill(fetch)
