"""Applying a page of events to rows, with few statements, each for many rows.

A projection asks for its rows one by one, and at once.  So a page is applied to the rows that
are here; an event that needs another row is put off, and the rest goes on, so that all missing
rows become known.  They are fetched, and the page begins again.  The round in which no row was
missing is the answer: it is what one event after another would have given.

A damaged event sets its stream aside (`cs.projections.set_aside`), and so does an event that a
projection cannot follow: it can be read, but nothing of ours can have written it.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import msgspec
from structlog import get_logger

from cs.domain.cause import fault
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.port import RecordedEvent
from cs.projections.builds import Build
from cs.projections.port import Session
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows
from cs.projections.set_aside import ASIDE, AsideRow, row_id

log = get_logger()

#: A page of up to so many events is applied on the event loop: a thread would take longer to
#: begin.
SMALL = 50
#: What a projection raises at an event that makes no sense.  Anything else is the fault of
#: where rows are kept, or of no data.
_SENSELESS = (
    LookupError,
    ArithmeticError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
)


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


async def folded(
    projections: Sequence[Projection],
    page: Sequence[RecordedEvent],
    seal: SealBody,
    stored: StoredRows,
    set_aside: Collection[str],
) -> tuple[Rows, Collection[str]]:
    """Return the rows after *page*, and the ids of the streams that it sets aside.

    Streams are passed over whose ids are in *set_aside*.
    """
    fold = _Fold(projections, page, seal, set_aside)
    while True:
        in_thread = len(page) > SMALL and not stored.session.in_thread
        rows, aside = await asyncio.to_thread(fold.round) if in_thread else fold.round()
        if rows is not None:
            return rows, aside
        await fold.fetch(stored)


class _Fold:
    """A page, and the stored rows that are here (`cs.projections.rows.Below`)."""

    def __init__(
        self,
        projections: Sequence[Projection],
        page: Sequence[RecordedEvent],
        seal: SealBody,
        set_aside: Collection[str],
    ) -> None:
        self._projections = projections
        self._page = page
        self._seal = seal
        self._set_aside = set_aside
        self._senseless: dict[str, int] = {}  # the first such version, by stream
        self._readers: dict[type, Sequence[Projection]] = {}  # by the type of event
        self._stored: dict[tuple[str, str], bytes | None] = {}
        self._missing: dict[str, set[str]] = {}

    def row(self, table: str, row_id: str) -> bytes | None:
        row_key = (table, row_id)
        if row_key not in self._stored:
            self._missing.setdefault(table, set()).add(row_id)
            raise _RowNotFetched
        return self._stored[row_key]

    async def fetch(self, stored: StoredRows) -> None:
        missing, self._missing = self._missing, {}
        found = await stored.fetch(missing) if missing else {}
        for table, ids in missing.items():
            self._stored |= {(table, each): found.get((table, each)) for each in ids}

    def round(self) -> tuple[Rows | None, Collection[str]]:
        """Apply the page; return its rows, ``None`` if another round is needed."""
        rows, aside = Rows(self), set[str]()
        for recorded in self._page:
            stream = row_id(recorded.position, recorded.stream)
            if stream in self._set_aside or stream in aside:
                continue
            senseless = self._senseless.get(stream) == recorded.version
            if senseless or isinstance(recorded, UnreadableEvent):
                aside.add(stream)
                row = AsideRow(
                    position=recorded.position, stream=recorded.stream, version=recorded.version
                )
                rows.put(ASIDE, stream, row)
            elif not self._followed(rows, recorded):
                self._senseless[stream] = recorded.version
                return None, ()
        return None if self._missing else rows, aside

    def _followed(self, rows: Rows, recorded: RecordedEvent) -> bool:
        """Apply *recorded* to *rows*; return whether every projection could follow it.

        While rows are missing, any error may come of that, and all is done again with them.
        """
        kind = type(recorded.event)
        readers = self._readers.get(kind)
        if readers is None:
            readers = [
                each for each in self._projections if each.reads is None or kind in each.reads
            ]
            self._readers[kind] = readers
        for projection in readers:
            try:
                projection.apply(rows, recorded, self._seal)
            except msgspec.MsgspecError:
                raise  # a row cannot be read
            except _SENSELESS as error:
                if not self._missing:
                    position = recorded.position
                    log.error("event_makes_no_sense", position=position, **fault(error))  # noqa: TRY400
                    return False
        return True


_ROWS = "SELECT '{of}', id, row FROM {table} WHERE id = ANY(${ids}::text[])"
