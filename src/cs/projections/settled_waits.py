"""Callers that wait until a search is settled, woken by the page that settles it."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cs.domain.key import SearchSettled
from cs.eventlog.port import RecordedEvent


class SettledWaits:
    def __init__(self) -> None:
        self._events: dict[str, set[asyncio.Event]] = {}

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        """Wake whoever waits for a search that *page* settles."""
        for recorded in page:
            if isinstance(recorded.event, SearchSettled):
                for settled in self._events.get(recorded.event.search, ()):
                    settled.set()

    @contextmanager
    def waiting(self, search: str) -> Iterator[asyncio.Event]:
        """Give what is set when *search* is settled from now on."""
        settled = asyncio.Event()
        self._events.setdefault(search, set()).add(settled)
        try:
            yield settled
        finally:
            events = self._events[search]
            events.discard(settled)
            if not events:
                del self._events[search]

    def __len__(self) -> int:
        """Return how many searches are waited for."""
        return len(self._events)
