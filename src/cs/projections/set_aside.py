"""Streams whose events the views pass over, because one of them is damaged.

Rows that skip an event would show something that never was, so nothing of such a stream is
applied from there on.  What is set aside stands in a row of its own, written with the page
that passes over it: once the stream is mended, its events are applied from that row on.
"""

import msgspec

from cs.eventlog.port import DamagedEvent
from cs.projections.table import Table


class AsideRow(msgspec.Struct, frozen=True, kw_only=True):
    """From which event on a stream is not applied; the log lacks one that has no stream."""

    position: int
    stream: str = ""
    version: int = -1
    mended: bool = False


#: The tag of the rows of streams that are set aside now.
SET_ASIDE = "set-aside"
#: By the stream; no event changes a row by itself.
ASIDE = Table(
    "aside",
    AsideRow,
    frozenset(),
    lambda _: None,
    lambda row, _: row,
    lambda row: None if row.mended else SET_ASIDE,
)


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
