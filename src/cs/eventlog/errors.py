"""What can go wrong with the event log.

Whatever implements the port raises these; errors of a database or a disk are their causes.
"""

from datetime import datetime

from cs.domain.codec import UnknownEvent


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


class SnapshotsUnavailable(Exception):
    """Snapshots cannot be read or written now; every state can be read without them."""
