"""The newest events, in memory so that followers at the log's end never touch the disk."""

from collections import deque
from collections.abc import Iterable, Sequence

from cs.domain.brand.events import ContactsErased
from cs.domain.codec import AnyEvent
from cs.domain.person import PersonErased
from cs.eventlog.port import RecordedEvent
from cs.runtime.broadcast import Broadcast


def _forgets(event: AnyEvent) -> bool:
    """Return whether *event* says that people were forgotten, whom earlier events show."""
    return isinstance(event, PersonErased) or (
        isinstance(event, ContactsErased) and event.aged_out
    )


#: Events in memory.  A follower further behind reads the store.
MAX_EVENTS = 4096


class RecentEvents:
    """Wakes followers when the log grows, and has its newest events."""

    def __init__(self, head: int = 0) -> None:
        self.head = head
        self._events: deque[RecordedEvent] = deque(maxlen=MAX_EVENTS)
        self._grew = Broadcast()

    def add(self, events: Iterable[RecordedEvent]) -> None:
        """Add events just committed by this process, in order of position."""
        for event in events:
            if self._events and self._events[-1].position != event.position - 1:
                self._events.clear()  # another process appended in between
            if _forgets(event.event):
                self._events.clear()  # they are in clear here
            self._events.append(event)
            self.head = max(self.head, event.position)
        self._notify()

    def moved(self, head: int) -> None:
        """Note that another process appended up to *head*."""
        if head > self.head:
            self.head = head
            self._notify()

    def after(self, position: int, limit: int) -> Sequence[RecordedEvent] | None:
        """Return events after *position*; ``None`` if they are not all in memory."""
        if position >= self.head:
            return ()
        if not self._events or self._events[0].position > position + 1:
            return None
        first = self._events[0].position
        start = position + 1 - first
        found = [self._events[n] for n in range(start, min(start + limit, len(self._events)))]
        return found or None

    def on_events(self, events: Iterable[RecordedEvent]) -> None:
        """Drop what came before an erasure among *events*, which were read from the store."""
        erased = [each.position for each in events if _forgets(each.event)]
        while erased and self._events and self._events[0].position <= erased[-1]:
            self._events.popleft()

    async def wait(self, after: int) -> None:
        while self.head <= after:
            await self._grew.wait()

    def _notify(self) -> None:
        self._grew.notify_all()
