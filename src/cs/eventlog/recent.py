"""The newest events, in memory: what follows a log at its end reads each once.

All who follow a log in one process read through this, so that the store is asked once for an
event, whichever process appended it, and not at all for what this process has appended.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cs.domain.codec import event_of
from cs.eventlog.mapper import FORGETTING, StoredRow
from cs.eventlog.port import RecordedEvent
from cs.runtime.coordination import Broadcast

#: Events in memory.  A follower further behind reads the store.
MAX_EVENTS = 4096
#: Bytes of them, as they are stored.  Most are below 2 KB; one with a hundred people may be a
#: hundred times that.
MAX_BYTES = 16 * 2**20


class RecentEvent(NamedTuple):
    """One of them, as it is stored.

    Attributes:
        given: As it was appended by this process, if it reads so.
    """

    row: StoredRow
    given: RecordedEvent | None = None

    @property
    def topic(self) -> str:
        return self.row[3]


class RecentEvents:
    """Wakes followers when the log grows, and has its newest events."""

    def __init__(self, head: int = 0) -> None:
        self.head = head
        self._events: dict[int, RecentEvent] = {}  # by position, not all of them
        self._bytes = 0
        self._dropped = 0  # the last position that is in memory no more
        self._grew = Broadcast()

    @property
    def floor(self) -> int:
        """The position after which events are kept in memory."""
        return max(self._dropped, self.head - MAX_EVENTS)

    def add(self, events: Iterable[RecentEvent]) -> None:
        """Add events just appended or read, in order of position."""
        newest = self.head
        for event in events:
            newest = event.row[0]
            if newest <= self.floor or newest in self._events:
                continue
            if event_of(event.topic) in FORGETTING:
                self.clear()  # what shows people as they were before
            self._events[newest] = event
            self._bytes += len(event.row[4] or b"")  # a damaged row may have none
            while len(self._events) > MAX_EVENTS or self._bytes > MAX_BYTES:
                oldest = next(iter(self._events))
                self._bytes -= len(self._events.pop(oldest).row[4] or b"")
                self._dropped = max(self._dropped, oldest)
        self.moved(newest)

    def moved(self, head: int) -> None:
        """Note that the log reaches to *head*."""
        if head > self.head:
            self.head = head
            self._grew.notify_all()

    def after(self, position: int, limit: int) -> Sequence[RecentEvent]:
        """Return the events after *position*, up to the first that is not in memory."""
        found = []
        for number in range(position + 1, position + limit + 1):
            event = self._events.get(number)
            if event is None:
                break
            found.append(event)
        return found

    def reads_as_given(self, position: int) -> bool:
        event = self._events.get(position)
        return event is not None and event.given is not None

    def clear(self) -> None:
        """Forget the events, not how far the log reaches."""
        self._events.clear()
        self._bytes = 0

    async def wait(self, after: int) -> None:
        while self.head <= after:
            await self._grew.wait()
