"""What is cached until when, and what runs now: one row a brand stream."""

from datetime import datetime
from typing import ClassVar

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
from cs.domain.messages import Event
from cs.eventlog.port import RecordedEvent
from cs.projections.projection import SealBody
from cs.projections.rows import Rows, Table


class BrandRow(msgspec.Struct, frozen=True, kw_only=True):
    query: Query
    live: str | None = None  # the lookup that runs now
    outcome: str | None = None  # of the last one that finished
    finished_at: datetime | None = None
    verified: int = 0
    reused_until: datetime | None = None
    reused: str | None = None  # the lookup that is


BRANDS = Table("brands", BrandRow, lambda row: "live" if row.live else None)


class Brands:
    name = "brands"
    version = 2
    tables = (BRANDS,)
    reads: ClassVar[frozenset[type[Event]] | None] = frozenset(
        {LookupStarted, LookupFinished, ContactsErased, ContactBounced, BrandForgotten}
    )

    def apply(self, rows: Rows, recorded: RecordedEvent, seal: SealBody) -> None:
        del seal
        stream = recorded.stream
        match recorded.event:
            case LookupStarted(lookup=lookup, query=query):
                row = rows.get(BRANDS, stream) or BrandRow(query=query)
                rows.put(BRANDS, stream, replace(row, live=lookup))
            case LookupFinished() as finished:
                before = rows.get(BRANDS, stream)
                if before is None:
                    return
                reused = (
                    finished.by_clock + REUSED_FOR if finished.reusable else before.reused_until
                )
                row = replace(
                    before,
                    live=None,
                    outcome=finished.outcome,
                    finished_at=finished.at,
                    verified=finished.verified,
                    reused_until=reused,
                    reused=finished.lookup if finished.reusable else before.reused,
                )
                rows.put(BRANDS, stream, row)
            case (
                ContactsErased(lookup=lookup, verified=verified)
                | ContactBounced(lookup=lookup, verified=verified)
            ):
                before = rows.get(BRANDS, stream)
                if before is None or before.reused != lookup or not before.verified:
                    return
                row = replace(before, verified=verified)
                if not verified:  # Contract C11
                    row = replace(row, reused_until=None)
                rows.put(BRANDS, stream, row)
            case BrandForgotten():
                before = rows.get(BRANDS, stream)
                if before is not None:
                    rows.put(BRANDS, stream, replace(before, reused_until=None))
            case _:
                pass
