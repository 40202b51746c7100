"""Rows of one search, advanced by what the views lack of its key and of its lookup.

However far the views are behind, whatever keeps them busy, nothing of other keys is read.
"""

from collections.abc import Sequence

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactBounced, ContactsErased, LookupFinished
from cs.domain.codec import AnyEvent, event_of, shapes
from cs.domain.key import Key, SearchAdmitted, SearchSettled
from cs.eventlog.mapper import DataKeys, recorded
from cs.eventlog.port import NO_STREAM, EventLog, RecordedEvent, Where
from cs.eventlog.streams import FoldedState
from cs.projections.rows import Rows
from cs.projections.searches import RESULTS, SEARCHES, ResultRow, Searches, SearchRow

#: Events of a key applied in memory for one answer; further behind, the answer waits.
AHEAD = 5_000
#: Of them read first; then four times as many.
FIRST = 16


class NewerRows:
    """Reads from *events*, and opens with *keys* the people that an answer shows."""

    def __init__(self, events: EventLog, keys: DataKeys) -> None:
        self._events = events
        self._keys = keys
        self._projection = Searches()

    async def since(
        self, stream: str, folded: FoldedState[Key], position: int
    ) -> Sequence[RecordedEvent] | None:
        """Return the events of *stream* after *position*, up to what is *folded*.

        ``None``: there are more than `AHEAD`.

        Raises:
            LogUnavailable, DamagedEvent: As `EventLog.read`.
        """
        count = min(FIRST, AHEAD)
        while count:
            after = max(folded.version - count, NO_STREAM)
            found = await self._events.read(stream, after, folded.version - after)
            if after == NO_STREAM or (found and found[0].position <= position):
                return [each for each in found if each.position > position]
            count = 0 if count == AHEAD else min(4 * count, AHEAD)
        return None

    def search(
        self, search: str, row: SearchRow | None, newer: Sequence[RecordedEvent]
    ) -> SearchRow | None:
        """Return the row of *search*, which is *row* in the views, after *newer*."""
        below = _Below(None if row is None else msgspec.json.encode(row))
        rows = Rows(below)
        for each in newer:
            event = each.event
            if isinstance(event, SearchAdmitted | SearchSettled) and event.search == search:
                self._projection.apply(rows, each, _plain)
        return rows.get(SEARCHES, search)

    async def result(
        self, lookup: str, row: ResultRow | None, position: int
    ) -> ResultRow | None:
        """Return what *lookup* found, by its events after *position*; contacts not sealed.

        Args:
            lookup: Which one.
            row: What the views have of it at *position*.
            position: Of the views.

        Returns:
            ``None`` if the log has nothing newer.

        Raises:
            LogUnavailable: Log or keys are away.
            DamagedEvent: One of them is damaged.
        """
        where = Where(topics=_RESULTS, streams=frozenset({stream_of(lookup)}))
        stored = await self._events.select(where, position, await self._events.head())
        if not stored:
            return None
        newer = await recorded(self._keys, stored)
        rows = Rows(_Below(None if row is None else msgspec.json.encode(row)))
        changed = False
        for each in newer:
            if getattr(each.event, "lookup", None) == lookup:
                self._projection.apply(rows, each, _plain)
                changed = True
        return rows.get(RESULTS, lookup) if changed else None


class _Below:
    """One row, as it is asked for (`cs.projections.rows.Below`)."""

    def __init__(self, row: bytes | None) -> None:
        self._row = row

    def row(self, table: str, row_id: str) -> bytes | None:
        del table, row_id
        return self._row


def _plain(name: str, body: bytes) -> bytes:
    """Seal nothing: the row is for one answer and stored nowhere."""
    del name
    return body


def topics_of(*events: type[AnyEvent]) -> frozenset[str]:
    """Return the topics that *events* are read of, in all versions."""
    return frozenset(topic for topic in shapes() if event_of(topic) in events)


#: Of what a result is made of.
_RESULTS = topics_of(LookupFinished, ContactsErased, ContactBounced)
