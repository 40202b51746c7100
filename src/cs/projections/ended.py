"""Searches that have ended, in memory: how a search ended never changes (contract C9).

So a row that is here is right however far the views or the log have gone since, and whoever
reads an ended search need not ask how far they are.  What it found is not here: people are
erased from that.
"""

from collections.abc import Sequence

from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.port import RecordedEvent
from cs.metrics.metrics import Metrics
from cs.projections.searches import SearchRow, admitted_row, settled_row
from cs.runtime.lru import LruDict

#: Rows in memory, some 300 bytes each; the least recently used goes first.
CACHED = 20_000


class EndedSearches:
    """Give `on_events` pages of events.  Running searches are in memory until they end."""

    def __init__(self, most: int = CACHED, metrics: Metrics | None = None) -> None:
        self._rows = rows = LruDict[str, SearchRow](most)
        self._counters = (metrics or Metrics()).cache("ended-searches", rows.__len__, most)

    def get(self, search: str) -> SearchRow | None:
        """Return how *search* ended, if that is known here."""
        row = self._rows.use(search)
        if row is None or row.status == "running":
            self._counters.misses.inc()
            return None
        self._counters.hits.inc()
        return row

    def keep(self, search: str, row: SearchRow) -> None:
        """Remember *row*, which was read, if *search* has ended."""
        if row.status != "running":
            self._rows[search] = row

    def forget(self) -> None:
        """Forget every row: those that were read may have been wrong."""
        self._rows.clear()

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        for recorded in page:
            event = recorded.event
            if isinstance(event, SearchAdmitted):
                if not self._has_ended(event.search):  # else its start is heard again
                    self._rows[event.search] = admitted_row(recorded.stream, event)
            elif isinstance(event, SearchSettled):
                row = self._rows.get(event.search)
                if row is not None and row.status == "running":
                    self._rows[event.search] = settled_row(row, event)

    def _has_ended(self, search: str) -> bool:
        row = self._rows.get(search)
        return row is not None and row.status != "running"
