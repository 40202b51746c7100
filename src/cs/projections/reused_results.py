"""What popular lookups found, in memory and sealed: read once for many searches that reuse it.

A row here is right for whoever stores nothing if its brand has changed since: nothing of a
result changes but by an event of its brand's stream, and the append of a reuse expects that
stream at the version that it was decided by.  Opening it needs its data key, as ever.
"""

from cs.metrics.metrics import Metrics
from cs.projections.searches import ResultRow
from cs.runtime.lru import LruDict

#: Rows in memory, a few kilobytes each; the least recently used goes first.
CACHED = 1_000


class ReusedResults:
    """Rows of `cs.projections.searches.RESULTS`, each with a position that it reflects."""

    def __init__(self, most: int = CACHED, metrics: Metrics | None = None) -> None:
        self._rows = rows = LruDict[str, tuple[int, ResultRow]](most)
        self._counters = (metrics or Metrics()).cache("reused-results", rows.__len__, most)

    def get(self, lookup: str, changed_at: int) -> ResultRow | None:
        """Return what *lookup* found, if the row here reflects the position *changed_at*."""
        position, row = self._rows.use(lookup) or (-1, None)
        if row is None or position < changed_at:
            self._counters.misses.inc()
            return None
        self._counters.hits.inc()
        return row

    def keep(self, lookup: str, position: int, row: ResultRow) -> None:
        """Remember *row*, which was read of views at *position*."""
        self._rows[lookup] = position, row

    def forget(self) -> None:
        """Forget every row: those that were read may have been wrong."""
        self._rows.clear()
