"""Applying a page with few statements, each for many rows.

A projection asks for its rows one by one, and at once.  So a page is applied to the rows that
are here; an event that needs another row is put off, and the rest goes on, so that all missing
rows become known.  They are fetched, and the page begins again.  The round in which no row was
missing is the answer: it is what one event after another would have given.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from cs.eventlog.port import RecordedEvent
from cs.projections.builds import Build
from cs.projections.port import Session
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows
from cs.projections.set_aside import Fold, TakeUp

T = TypeVar("T")

#: A page of up to so many events is applied on the event loop: a thread would take longer to
#: begin.
SMALL = 50


class _RowNotFetched(LookupError):
    """A row is asked for that was not fetched yet."""


class StoredRows(NamedTuple):
    """The rows of a build, as a session sees them."""

    session: Session
    build: Build

    async def fetch(
        self, wanted: Mapping[str, Collection[str]]
    ) -> Mapping[tuple[str, str], bytes]:
        """Return those of the rows *wanted*, ids by table, that there are."""
        tables = sorted(wanted)
        statement = " UNION ALL ".join(
            _ROWS.format(of=table, table=self.build.table(table), ids=number)
            for number, table in enumerate(tables, 1)
        )
        found = await self.session.fetch(statement, *(list(wanted[table]) for table in tables))
        return {(table, row_id): row for table, row_id, row in found}


class _FetchedRows:
    """Rows that are here, and which ones are missing."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], bytes | None] = {}
        self.missing: dict[str, set[str]] = {}

    def row(self, table: str, row_id: str) -> bytes | None:
        row_key = (table, row_id)
        if row_key not in self._rows:
            self.missing.setdefault(table, set()).add(row_id)
            raise _RowNotFetched
        return self._rows[row_key]

    def excuses(self, error: Exception) -> bool:
        """Return whether *error* may come of rows that are not here yet."""
        return isinstance(error, _RowNotFetched) or bool(self.missing)

    async def fetch(self, stored: StoredRows) -> None:
        missing, self.missing = self.missing, {}
        found = await stored.fetch(missing)
        for table, ids in missing.items():
            for row_id in ids:
                self._rows[table, row_id] = found.get((table, row_id))


async def folded(
    projections: Sequence[Projection],
    page: Sequence[RecordedEvent],
    seal: SealBody,
    stored: StoredRows,
    set_aside: Iterable[str],
) -> Rows:
    """Return the rows after *page*; streams are passed over whose ids are in *set_aside*."""
    fetched = _FetchedRows()
    fold = Fold(projections, seal, set_aside, excused=fetched.excuses)

    def page_applied() -> Rows:
        return fold.rows(lambda: Rows(fetched), page)

    return await _in_rounds(page_applied, fetched, stored, len(page))


async def folded_late(
    projections: Sequence[Projection],
    late: TakeUp,
    seal: SealBody,
    stored: StoredRows,
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

    return await _in_rounds(late_applied, fetched, stored, len(late.events))


async def _in_rounds(
    apply: Callable[[], T], fetched: _FetchedRows, stored: StoredRows, count: int
) -> T:
    while True:
        in_thread = count > SMALL and not stored.session.in_thread
        applied = await asyncio.to_thread(apply) if in_thread else apply()
        if not fetched.missing:
            return applied
        await fetched.fetch(stored)


_ROWS = "SELECT '{of}', id, row FROM {table} WHERE id = ANY(${ids}::text[])"
