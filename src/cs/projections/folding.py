"""Applying a page of events to rows, with few statements, each for many rows.

A projection asks for its rows one by one, and at once.  So a page is applied to the rows that
are here; an event that needs another row is put off, and the rest goes on, so that all missing
rows become known.  They are fetched, and the page begins again.  The round in which no row was
missing is the answer: it is what one event after another would have given.

A damaged event sets its stream aside (`cs.projections.set_aside`), and so does an event that a
projection cannot follow: it can be read, but nothing of ours can have written it.
"""

from collections.abc import Collection, Sequence

import msgspec
from structlog import get_logger

from cs.domain.cause import fault
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.port import RecordedEvent
from cs.projections.builds import Build
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows
from cs.projections.set_aside import ASIDE, AsideRow, row_id
from cs.runtime.sql import Work

log = get_logger()

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


def folded(
    projections: Sequence[Projection],
    page: Sequence[RecordedEvent],
    seal: SealBody,
    build: Build,
    set_aside: Collection[str],
) -> Work[tuple[Rows, Collection[str]]]:
    """Return the rows of *build* after *page*, and the ids of the streams that it sets aside.

    Streams are passed over whose ids are in *set_aside*.
    """
    fold = _Fold(projections, page, seal, set_aside)
    while True:
        rows, aside = fold.round()
        if rows is not None:
            return rows, aside
        yield from fold.fetch(build)


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

    def fetch(self, build: Build) -> Work[None]:
        """Fetch the rows that are missing."""
        missing, self._missing = self._missing, {}
        for table, ids in sorted(missing.items()):
            found = yield _ROWS.format(table=build.table(table)), list(ids)
            rows = dict(found)
            self._stored |= {(table, each): rows.get(each) for each in ids}

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


_ROWS = "SELECT id, row FROM {table} WHERE id = ANY($1::text[])"
