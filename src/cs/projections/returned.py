"""When the people of each lookup were last returned by a search: what ages out goes by it."""

from datetime import datetime
from typing import ClassVar

import msgspec

from cs.domain.brand.events import ContactsErased, LookupFinished
from cs.domain.key import SearchSettled
from cs.domain.messages import Event
from cs.eventlog.port import RecordedEvent
from cs.projections.projection import SealBody
from cs.projections.rows import Rows, Table


class ReturnedRow(msgspec.Struct, frozen=True, kw_only=True):
    """``day``: UTC, like ``2026-11-22``; ``None`` once its people have aged out."""

    day: str | None


#: By lookup, tagged by the day.
RETURNED = Table("returned", ReturnedRow, lambda row: row.day)


def day_of(at: datetime) -> str:
    return at.date().isoformat()


class ReturnedPeople:
    name = "returned"
    version = 2
    tables = (RETURNED,)
    reads: ClassVar[frozenset[type[Event]] | None] = frozenset(
        {LookupFinished, SearchSettled, ContactsErased}
    )

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: SealBody) -> None:
        del seal
        match recorded.event:
            case LookupFinished(lookup=lookup, at=at) | SearchSettled(lookup=lookup, at=at):
                # In either order: a damaged lookup ends here when it is mended.
                before = rows.get(RETURNED, lookup)
                day = day_of(at)
                if before is None or (before.day is not None and before.day < day):
                    rows.put(RETURNED, lookup, ReturnedRow(day=day))
            case ContactsErased(lookup=lookup, aged_out=True):
                rows.put(RETURNED, lookup, ReturnedRow(day=None))
            case _:
                pass
