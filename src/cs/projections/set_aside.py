"""Streams whose events the views pass over, because one of them is damaged.

Rows that skip an event would show something that never was, so nothing of such a stream is
applied from there on.  What is set aside stands in a row of its own, written with the page
that passes over it: once the stream is mended, its events are applied from that row on.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
from structlog import get_logger

from cs.domain.cause import fault
from cs.eventlog.damage import UnreadableEvent
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import RecordedEvent
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows, Table

log = get_logger()


#: What a projection raises at an event that nobody can have written.  Anything else is the
#: fault of where rows are kept, or of nobody's data.
_SENSELESS = (
    LookupError,
    ArithmeticError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
)


class AsideRow(msgspec.Struct, frozen=True, kw_only=True):
    """From which event on a stream is not applied; the log lacks one that has no stream."""

    position: int
    stream: str = ""
    version: int = -1
    mended: bool = False


#: The tag of the rows of streams that are set aside now.
SET_ASIDE = "set-aside"
ASIDE = Table("aside", AsideRow, lambda row: None if row.mended else SET_ASIDE)


def row_id(position: int, stream: str) -> str:
    """Return the id of the row of *stream*, or of an event without one.

    >>> row_id(7, "key-a"), row_id(7, "")
    ('key-a', '@7')
    """
    return stream or f"@{position}"


def damage_of(row: AsideRow) -> DamagedEvent:
    """Return what *row* stands for, to be noted."""
    why = f"the views pass over the event at position {row.position}"
    return DamagedEvent(row.position, row.stream, row.version, why)


class Fold:
    """Applies a page of events to rows, but for those of streams that are set aside.

    Args:
        set_aside: Ids of the rows of those streams.
        excused: Whether what a projection raised is no fault of the event: rows are
            lacking, and all is done again with them.
    """

    def __init__(
        self,
        projections: Sequence[Projection],
        seal: SealBody,
        set_aside: Iterable[str],
        excused: Callable[[Exception], bool] = lambda _: False,
    ) -> None:
        self._projections = projections
        self._seal = seal
        self._set_aside = frozenset(set_aside)
        self._excused = excused
        self._senseless: dict[str, int] = {}  # the first such version, by stream
        self._readers: dict[type, Sequence[Projection]] = {}  # by the type of event

    def rows(self, make: Callable[[], Rows], page: Sequence[RecordedEvent]) -> Rows:
        """Return the rows after *page*, beginning with what *make* gives.

        An event that a projection cannot follow sets its stream aside like a damaged one:
        it can be read, but nobody can have written it.
        """
        while True:
            rows = make()
            aside = set(self._set_aside)
            for recorded in page:
                if not self._apply(rows, recorded, aside):
                    break
            else:
                return rows

    def _apply(self, rows: Rows, recorded: RecordedEvent, aside: set[str]) -> bool:
        """Apply *recorded*; return whether that went, or all is to begin again."""
        unreadable = isinstance(recorded, UnreadableEvent)
        if aside or self._senseless or unreadable:  # hardly ever
            aside_id = row_id(recorded.position, recorded.stream)
            if aside_id in aside:
                return True
            if unreadable or self._senseless.get(aside_id) == recorded.version:
                aside.add(aside_id)
                row = AsideRow(
                    position=recorded.position, stream=recorded.stream, version=recorded.version
                )
                rows.put(ASIDE, aside_id, row)
                return True
        kind = type(recorded.event)
        readers = self._readers.get(kind)
        if readers is None:
            readers = self._readers[kind] = _readers(self._projections, recorded)
        if _applied(readers, rows, recorded, self._seal, self._excused):
            return True
        self._senseless[row_id(recorded.position, recorded.stream)] = recorded.version
        return False


class TakeUp(msgspec.Struct, frozen=True):
    """Events of a stream that was set aside, to be applied now.

    Attributes:
        row_id: Of its row in `ASIDE`.
        events: The next ones of the stream, none beyond ``checkpoint``.
        checkpoint: Where the views are.
        is_last: Whether there are no more of them: the stream is mended.
    """

    row_id: str
    events: Sequence[RecordedEvent]
    checkpoint: int
    is_last: bool

    def apply(
        self,
        projections: Sequence[Projection],
        rows: Rows,
        seal: SealBody,
        excused: Callable[[Exception], bool] = lambda _: False,
    ) -> bool:
        """Apply it to *rows*; return whether that stream is set aside there at all.

        Raises:
            DamagedEvent: A projection cannot follow one of the events.
        """
        row = rows.get(ASIDE, self.row_id)
        if row is None or row.mended:
            return False
        for recorded in self.events:
            readers = _readers(projections, recorded)
            if not _applied(readers, rows, recorded, seal, excused):
                raise damage_of(row)
        version = self.events[-1].version + 1 if self.events else row.version
        after = msgspec.structs.replace(row, version=version, mended=self.is_last)
        rows.put(ASIDE, self.row_id, after)
        return True


def _readers(
    projections: Sequence[Projection], recorded: RecordedEvent
) -> Sequence[Projection]:
    """Return those of *projections* that read events of the type of *recorded*."""
    kind = type(recorded.event)
    return [each for each in projections if each.reads is None or kind in each.reads]


def _applied(
    projections: Sequence[Projection],
    rows: Rows,
    recorded: RecordedEvent,
    seal: SealBody,
    excused: Callable[[Exception], bool],
) -> bool:
    """Apply *recorded* to *rows*; return whether every projection could follow it."""
    for projection in projections:
        try:
            projection.apply(rows, recorded, seal)
        except msgspec.MsgspecError:
            raise  # a row cannot be read
        except _SENSELESS as error:
            if not excused(error):
                position = recorded.position
                log.error("event_makes_no_sense", position=position, **fault(error))  # noqa: TRY400
                return False
    return True
