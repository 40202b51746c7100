"""The newest events, in memory: what follows a log at its end reads and decodes each once.

All who follow a log in one process read through this, so that the store is asked once for an
event, whoever appended it.  An event is kept as it is stored, and beside that as it was
decoded, with the people in it or without, once somebody wanted it so.
"""

from collections.abc import Iterable, Sequence

from cs.domain.codec import event_of
from cs.eventlog.mapper import FORGETTING, SEALED, StoredRow
from cs.eventlog.port import NO_EVENT, EventNeeds, RecordedEvent
from cs.runtime.broadcast import Broadcast

#: Events in memory.  A follower further behind reads the store.
MAX_EVENTS = 4096
#: Bytes of them, as they are stored; decoded they take more.  Most are below 2 KB, and one with
#: a hundred people may be a hundred times that.
MAX_BYTES = 16 * 2**20


class RecentEvent:
    """One of them.

    Attributes:
        kind: The type of event; ``None``: of a newer version, or damaged.
        state: As it is stored; ``None``: not at hand.
        size: Bytes that it was stored as, 0 if that is not known yet.
    """

    __slots__ = (
        "_opened",
        "_shut",
        "kind",
        "position",
        "size",
        "state",
        "stream",
        "topic",
        "version",
    )

    def __init__(
        self,
        position: int,
        stream: str,
        version: int,
        topic: str,
        state: bytes | None,
        *,
        opened: RecordedEvent | None = None,
        size: int = 0,
    ) -> None:
        self.position = position
        self.stream = stream
        self.version = version
        self.topic = topic
        self.kind = event_of(topic)
        self.state = state
        self.size = size if state is None else len(state)
        self._opened = opened
        self._shut: RecordedEvent | None = None

    @property
    def row(self) -> StoredRow:
        return (self.position, self.stream, self.version, self.topic, self.state or b"")

    @property
    def is_opened(self) -> bool:
        """Whether all that it says is at hand, people and all."""
        return self._opened is not None

    @property
    def forgets(self) -> bool:
        """Whether it says that people were forgotten, whom earlier events show."""
        return self.kind in FORGETTING

    def serves(self, wanted: EventNeeds) -> bool:
        """Return whether what is *wanted* of it can be had without the store."""
        return self.state is not None or self.taken(wanted) is not None

    def taken(self, wanted: EventNeeds) -> RecordedEvent | None:
        """Return it as it is *wanted*, if it was decoded so."""
        kind = self.kind
        if kind is None:
            return None
        if not wanted.reads(kind):
            return RecordedEvent(self.position, self.stream, self.version, NO_EVENT)
        return self._opened if wanted.opens(kind) else self._shut or self._opened

    def keep(self, recorded: RecordedEvent, wanted: EventNeeds) -> None:
        """Keep it as it was decoded for *wanted*."""
        kind = self.kind
        if kind is None or not wanted.reads(kind):
            return
        if wanted.opens(kind) or SEALED not in (self.state or SEALED):
            self._opened = recorded
        else:
            self._shut = recorded


class RecentEvents:
    """Wakes followers when the log grows, and has its newest events."""

    def __init__(self, head: int = 0) -> None:
        self.head = head
        self._events: dict[int, RecentEvent] = {}  # by position, not all of them
        self._bytes = 0
        self._floor = 0  # none of them is at it or before
        self._grew = Broadcast()

    @property
    def floor(self) -> int:
        """The position after which events are kept in memory."""
        return max(self._floor, self.head - MAX_EVENTS)

    def add(self, events: Iterable[RecentEvent]) -> None:
        """Add events just committed by this process, in order of position."""
        newest = self.head
        for event in events:
            self._put(event)
            newest = event.position
        self.head = max(self.head, newest)
        self._grew.notify_all()

    def read(self, events: Sequence[RecentEvent]) -> list[RecentEvent]:
        """Return *events*, just read from the store, as those in memory if they are there."""
        found = []
        for event in events:
            known = self._events.get(event.position)
            if known is None:
                if event.position > self.floor:
                    self._put(event)
                known = event
            elif known.state is None and event.state is not None:
                known.state = event.state
                self._bytes += event.size - known.size
                known.size = event.size
            found.append(known)
        self._keep_bounds()
        if events:
            self.moved(events[-1].position)
        return found

    def moved(self, head: int) -> None:
        """Note that another process appended up to *head*."""
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

    def is_opened(self, position: int) -> bool:
        """Return whether the event at *position* is in memory, people and all."""
        event = self._events.get(position)
        return event is not None and event.is_opened

    def drop(self, position: int) -> None:
        """Forget what is at *position*: it is not what was stored."""
        event = self._events.pop(position, None)
        if event is not None:
            self._bytes -= event.size

    async def wait(self, after: int) -> None:
        while self.head <= after:
            await self._grew.wait()

    def _put(self, event: RecentEvent) -> None:
        if event.forgets:
            self._forget_before(event.position)
        self.drop(event.position)
        self._events[event.position] = event
        self._bytes += event.size
        self._keep_bounds()

    def _keep_bounds(self) -> None:
        while len(self._events) > MAX_EVENTS or self._bytes > MAX_BYTES:
            if self._floor + 1 not in self._events:  # there may be millions in between
                self._floor = min(self._events) - 1
            self._floor += 1
            self.drop(self._floor)

    def _forget_before(self, position: int) -> None:
        """Forget what shows people as they were before the event at *position*."""
        for number in [each for each in self._events if each < position]:
            self.drop(number)
