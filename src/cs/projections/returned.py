"""When the people of each lookup were last returned by a search: what ages out goes by it."""

from datetime import datetime
from operator import attrgetter

import msgspec

from cs.domain.brand.events import ContactsErased, LookupFinished
from cs.domain.key import SearchSettled
from cs.eventlog.port import RecordedEvent
from cs.projections.table import Table


class ReturnedRow(msgspec.Struct, frozen=True, kw_only=True):
    """``day``: UTC, like ``2026-11-22``; ``None`` once its people have aged out."""

    day: str | None


def day_of(at: datetime) -> str:
    return at.date().isoformat()


def _fold(before: ReturnedRow | None, recorded: RecordedEvent) -> ReturnedRow | None:
    match recorded.event:
        case LookupFinished(at=at) | SearchSettled(at=at):
            # In either order: a damaged lookup ends here when it is mended.
            day = day_of(at)
            if before is None or (before.day is not None and before.day < day):
                return ReturnedRow(day=day)
        case ContactsErased(aged_out=True):
            return ReturnedRow(day=None)
        case _:
            pass
    return before


#: By lookup, tagged by the day.
RETURNED = Table(
    "returned",
    ReturnedRow,
    frozenset({LookupFinished, SearchSettled, ContactsErased}),
    attrgetter("event.lookup"),
    _fold,
    lambda row: row.day,
)
