"""Results that are reused until when, and lookups that run: one row a brand stream."""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from cs.domain.brand.brand import REUSED_FOR
from cs.domain.brand.events import (
    BrandForgotten,
    ContactBounced,
    ContactsErased,
    LookupFinished,
    LookupStarted,
)
from cs.domain.contact import Query
from cs.eventlog.port import RecordedEvent
from cs.projections.table import Table


class BrandRow(msgspec.Struct, frozen=True, kw_only=True):
    query: Query
    live: str | None = None  # the lookup that runs now
    outcome: str | None = None  # of the last one that finished
    finished_at: datetime | None = None
    verified: int = 0
    reused_until: datetime | None = None
    reused: str | None = None  # the lookup that is


def _fold(before: BrandRow | None, recorded: RecordedEvent) -> BrandRow | None:
    event = recorded.event
    if isinstance(event, LookupStarted):
        return replace(before or BrandRow(query=event.query), live=event.lookup)
    if before is None:
        return None
    match event:
        case LookupFinished(reusable=reusable):
            return replace(
                before,
                live=None,
                outcome=event.outcome,
                finished_at=event.at,
                verified=event.verified,
                reused_until=event.by_clock + REUSED_FOR if reusable else before.reused_until,
                reused=event.lookup if reusable else before.reused,
            )
        case ContactsErased(verified=verified) | ContactBounced(verified=verified):
            if before.reused == event.lookup and before.verified:
                until = before.reused_until if verified else None  # Contract C11
                return replace(before, verified=verified, reused_until=until)
        case BrandForgotten():
            return replace(before, reused_until=None)
        case _:
            pass
    return before


#: By the stream of the brand.
BRANDS = Table(
    "brands",
    BrandRow,
    frozenset({LookupStarted, LookupFinished, ContactsErased, ContactBounced, BrandForgotten}),
    lambda recorded: recorded.stream,
    _fold,
    lambda row: "live" if row.live else None,
)
