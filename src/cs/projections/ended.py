"""Searches that have ended, in memory: how a search ended never changes (contract C9).

So a row that is here is right however far the views or the log have gone since, and whoever
reads an ended search need not ask how far they are.  What it found is not here: people are
erased from that.
"""

from collections.abc import Sequence

import msgspec

from cs.domain.codec import AnyEvent
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.port import RecordedEvent
from cs.metrics.metrics import Metrics
from cs.projections.rows import Rows
from cs.projections.searches import SEARCHES, Searches, SearchRow
from cs.runtime.lru import LruDict

#: Rows in memory, some 300 bytes each; the least recently used goes first.
CACHED = 20_000


class EndedSearches:
    """Give `on_events` pages of events.  Running searches are in memory until they end."""

    def __init__(self, most: int = CACHED, metrics: Metrics | None = None) -> None:
        self._rows = rows = LruDict[str, bytes](most)
        self._counters = (metrics or Metrics()).cache("ended-searches", rows.__len__, most)
        self._projection = Searches()

    def get(self, search: str) -> SearchRow | None:
        """Return how *search* ended, if that is known here."""
        data = self._rows.use(search)
        row = None if data is None else SEARCHES.decode(data)
        if row is None or row.status == "running":
            self._counters.misses.inc()
            return None
        self._counters.hits.inc()
        return row

    def at_once(self, search: str) -> SearchRow | None:
        """Return what `get` does, which need not be asked again if it is ``None``."""
        return self.get(search) if search in self._rows else None

    def keep(self, search: str, row: SearchRow) -> None:
        """Remember *row*, which was read, if *search* has ended."""
        if row.status != "running":
            self._rows[search] = msgspec.json.encode(row)

    def forget(self) -> None:
        """Forget every row: those that were read may have been wrong."""
        self._rows.clear()

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        news = [each for each in page if self._is_news(each.event)]
        if not news:
            return
        rows = Rows(self)
        for recorded in news:
            self._projection.apply(rows, recorded, _seal_nothing)
        for _, search, _, data in rows.changes():
            self._rows[search] = data

    def _is_news(self, event: AnyEvent) -> bool:
        """Return whether *event* is of a search, and not the start of an ended one again."""
        if isinstance(event, SearchAdmitted):
            return self.get(event.search) is None
        return isinstance(event, SearchSettled)

    def row(self, table: str, row_id: str) -> bytes | None:
        """Return the row in memory (the port `cs.projections.rows.Below`)."""
        assert table == SEARCHES.name, "nothing else is asked for by these events"
        return self._rows.get(row_id)


def _seal_nothing(name: str, body: bytes) -> bytes:
    raise AssertionError(f"{name} is no part of a search's row: {len(body)} bytes")
