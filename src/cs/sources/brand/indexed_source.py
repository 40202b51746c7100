"""A brand source that answers from an index on this machine."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import msgspec

from cs.plugins.sources import BrandAnswer, BrandFacts, BrandMatch, Query, SourceStatus
from cs.sources.brand.brand_index import BrandIndex, IndexFault


class IndexedSource(ABC):
    """Opens its file at the first question, and asks it in a thread of its own.

    Args:
        file: Of the index.
    """

    name: str
    #: What failed, for people.
    _what: str
    _immutable = False

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = Lock()
        self._index: BrandIndex | None = None

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find brands by their domain if one is asked or *known*, and by name."""
        if known is not None:
            query = Query(brand=known.name, domain=known.domain or query.domain)
        try:
            found = await asyncio.to_thread(self._locked, query)
        except (IndexFault, msgspec.MsgspecError, UnicodeError) as error:
            why = f"{self._what} cannot be read: {error}"
            return BrandAnswer(source=self.name, ended=SourceStatus.FAILED, why=why)
        matches = tuple(sorted(found, key=lambda match: -match.score))
        ended = SourceStatus.USED if matches else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=matches)

    def _locked(self, query: Query) -> Sequence[BrandMatch]:
        with self._lock:
            if self._index is None:
                self._index = BrandIndex(self._file, immutable=self._immutable)
            return self._matches(self._index, query)

    @abstractmethod
    def _matches(self, index: BrandIndex, query: Query) -> Sequence[BrandMatch]:
        """Return the brands that *query* may mean, in any order."""
