"""How many lookups run in the whole service: the bound on what is begun at once."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from cs.domain.brand.events import LookupFinished, LookupStarted
from cs.domain.messages import Event
from cs.eventlog.port import RecordedEvent

#: Lookups that run at once, if the settings say nothing else; each lasts about a minute.
LOOKUPS = 1_000


class RunningLookups:
    """Give `on_events` every page of events; `full` answers without a database.

    A start counts from before its append until the event of its end comes, so that no number of
    callers at the same moment gets past the bound.

    Attributes:
        READS: Those events that it goes by.
    """

    READS: ClassVar[frozenset[type[Event]]] = frozenset({LookupStarted, LookupFinished})

    def __init__(self, most: int = LOOKUPS) -> None:
        self._most = most
        self._running: set[str] = set()
        self._starting: dict[str, int] = {}  # lookup -> appends that may start it

    @property
    def full(self) -> bool:
        return len(self) >= self._most

    def __len__(self) -> int:
        return len(self._running) + len(self._starting)

    def load(self, lookups: Iterable[str]) -> None:
        """Take up the lookups that ran when the last process ended."""
        self._running.update(lookups)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        for recorded in page:
            match recorded.event:
                case LookupStarted(lookup=lookup):
                    self._starting.pop(lookup, None)
                    self._running.add(lookup)
                case LookupFinished(lookup=lookup):
                    self._running.discard(lookup)
                case _:
                    pass

    @contextmanager
    def starting(self, lookup: str) -> Iterator[None]:
        """Count *lookup* while its start is appended, and after that until its event comes."""
        self._starting[lookup] = self._starting.get(lookup, 0) + 1
        try:
            yield
        except BaseException:
            # Stored after all, its event comes like any other.
            left = self._starting.get(lookup, 0) - 1
            if left > 0:
                self._starting[lookup] = left
            else:
                self._starting.pop(lookup, None)
            raise
