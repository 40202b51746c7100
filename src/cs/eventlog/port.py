"""The event log: the only truth, append-only.

Positions count from 1 over the whole log and are in commit order; versions count from 0
within a stream.  An expected version is the version of the last event the writer saw,
-1 for a stream that does not exist.

Whatever implements the port raises its errors; those of a database or a disk are their causes.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, Self

import msgspec

from cs.domain.causation import AnyCause
from cs.domain.codec import AnyEvent, UnknownEvent
from cs.domain.messages import Event

#: The expected version of a stream without events.
NO_STREAM = -1


class Append(msgspec.Struct, frozen=True):
    """Events for the end of one stream.

    Attributes:
        events: None of them: the stream is only expected to be at its version.
        caused_by: What caused them; ``None``: not known.
    """

    stream: str
    expected: int
    events: Sequence[AnyEvent]
    caused_by: AnyCause | None = None


class RecordedEvent(msgspec.Struct, frozen=True):
    """One stored event.

    Attributes:
        caused_by: What caused it; ``None``: not known, as of events of older versions.
    """

    position: int
    stream: str
    version: int
    event: AnyEvent
    caused_by: AnyCause | None = None


class _NoEvent(msgspec.Struct, frozen=True):
    """In the place of an event, for those who look for events they know."""


#: Stands where an event was not read.
NO_EVENT: Any = _NoEvent()


class EventNeeds(msgspec.Struct, frozen=True):
    """What a reader takes in of the events that it reads.

    Attributes:
        types: Those that it reads; in the place of any other it gets `NO_EVENT`, which is
            neither fetched nor decoded.  ``None``: all.
        opened: Those in which it reads people; in any other they stay sealed, and read as
            erased.  ``None``: all.
    """

    types: frozenset[type[Event]] | None = None
    opened: frozenset[type[Event]] | None = None

    def reads(self, event: type[Event]) -> bool:
        return self.types is None or event in self.types

    def opens(self, event: type[Event]) -> bool:
        return self.opened is None or event in self.opened


#: Every event, with the people in it.
EVERYBODY = EventNeeds()
#: Every event, without its people.
NOBODY = EventNeeds(opened=frozenset())


class SealedEvent(NamedTuple):
    """One event as it is stored, personal values sealed."""

    position: int
    stream: str
    version: int
    topic: str
    state: bytes  # JSON


class Where(msgspec.Struct, frozen=True):
    """Which events are meant.

    Attributes:
        topics: Of any of these types; ``None``: of any type.
        streams: Of any of these streams, or of those that `prefixes` means; both ``None``:
            of any stream.
        prefixes: Of streams whose names begin with any of these.
    """

    topics: frozenset[str] | None = None
    streams: frozenset[str] | None = None
    prefixes: frozenset[str] | None = None

    def holds(self, stream: str, topic: str) -> bool:
        """Return whether an event of *stream* and *topic* is meant."""
        if self.topics is not None and topic not in self.topics:
            return False
        if self.streams is None and self.prefixes is None:
            return True
        return stream in (self.streams or ()) or stream.startswith(tuple(self.prefixes or ()))


#: Every event.
EVERYTHING = Where()


class Ceiling(msgspec.Struct, frozen=True):
    """Start one lookup, if the service-wide daily ceiling allows it.

    Checked inside the append's own transaction; the start is numbered there.  Not an
    expected version: one stream that all write to would serialise all writers.
    """

    at: datetime
    limit: int | None  # lookups started per rolling 24 h; None is no ceiling


class WrongExpectedVersion(Exception):
    """Another writer appended first.  Nothing was stored.

    Attributes:
        stream: The stream that moved on.
    """

    def __init__(self, stream: str, expected: int, found: int) -> None:
        super().__init__(f"{stream} is at version {found}, not {expected}")
        self.stream = stream


class CeilingReached(Exception):
    """The append would start one lookup too many.  Nothing was stored.

    Attributes:
        opens_at: When the next lookup may start.
    """

    def __init__(self, opens_at: datetime) -> None:
        super().__init__(f"no lookup may start before {opens_at.isoformat()}")
        self.opens_at = opens_at


class LogUnavailable(Exception):
    """The log cannot take or give events now.

    An append that ended so was stored before this was raised, or never will be: reading the
    stream shows which.  `AppendInDoubt` is the exception.
    """


class AppendInDoubt(LogUnavailable):
    """The append may still be stored after this was raised.

    Its connection was lost and nothing answered in time.  Finding nothing in the stream does
    not mean that nothing will be there.
    """


class NewerEvent(UnknownEvent, LogUnavailable):
    """An event stands in the way that a newer version wrote: waiting does not make it known.

    The message names no stream: a stream's name may identify a person or a customer.

    Attributes:
        position: Of that event.
        stream: That it belongs to.
        topic: What it is stored as.
    """

    def __init__(self, position: int, stream: str, topic: str) -> None:
        super().__init__(
            f"the event at position {position} is {topic}, which this version does not know: "
            "a newer one wrote it; upgrade this role"
        )
        self.position = position
        self.stream = stream
        self.topic = topic


class DamagedEvent(LogUnavailable):
    """A stored event cannot be read, and waiting does not mend it: its stream is set aside.

    Attributes:
        position: Of that event; 0 if a stream lacks it.
        stream: That it belongs to; empty if the log lacks it.
        version: In its stream; -1 if the log lacks it.
    """

    def __init__(self, position: int, stream: str, version: int, why: str) -> None:
        super().__init__(why)
        self.position = position
        self.stream = stream
        self.version = version

    @classmethod
    def of(cls, position: int, stream: str, version: int, error: Exception) -> Self:
        """Return the error about an event; the words of *error* may hold some of it."""
        why = f"event {position}, {stream} version {version}, is damaged: "
        return cls(position, stream, version, why + type(error).__name__)


class EventLog(Protocol):
    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        """Store all events of all *appends*, or none; return the last position.

        Several of one stream stand one after the other, each expected where the one before
        it ends: events that were caused by different things.

        Raises:
            WrongExpectedVersion: A stream is not at its expected version.
            CeilingReached: *ceiling* forbids it.
            LogUnavailable: The log is stopping, its queue is full or the disk failed; as far
                as the log is readable, it says what was stored.
            AppendInDoubt: It may be stored later than this is raised.
        """

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        """Return the events of *stream* after version *after*, in order.

        At most *limit* of them, the first ones; ``None``: all, however long it is.

        Raises:
            LogUnavailable: The log cannot be read now.
            DamagedEvent: One of them is damaged, or missing.
            NewerEvent: One of them is of a newer version.
        """

    async def tail(
        self, after: int, limit: int = 500, wanted: EventNeeds | None = None
    ) -> Sequence[RecordedEvent]:
        """Return events of all streams after position *after*, in order of position.

        They end before the first one of a newer version, if it is not the very first.  Without
        *wanted* they are read whole, or as this log is set to; damage in what is not wanted
        is not noticed.

        Raises:
            LogUnavailable: As `read`.
            DamagedEvent: As `read`; it names the first such event.
            NewerEvent: The first of them is of a newer version.
        """

    async def stored(self, after: int, limit: int = 500) -> Sequence[SealedEvent]:
        """Return what `tail` returns, as it is stored: no data key is asked for.

        Raises:
            LogUnavailable: The log cannot be read now.
            DamagedEvent: It lacks an event.
        """

    async def select(self, where: Where, after: int, upto: int) -> Sequence[SealedEvent]:
        """Return what is stored of *where* after position *after*, up to *upto*, in order.

        For searches of the history: nothing is checked and no data key is asked for.
        At most ``upto - after`` events are held in memory.

        Raises:
            LogUnavailable: The log cannot be read now.
        """

    async def head(self) -> int:
        """Return the last position, 0 if the log is empty."""

    async def grown(self, after: int) -> None:
        """Wait until the last position is beyond *after*."""

    def reads_as_given(self, position: int) -> bool:
        """Return whether what this process has just appended there says what it was given.

        ``False``: it is to be read, since a person in it may have been erased meanwhile.
        """

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        """Return when the next lookup may start; ``None`` if it may now."""
