"""What readers and callers' keys need of the part that follows the log for the views."""

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeAlias

from cs.domain.messages import Event
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.follow import VersionGate
from cs.eventlog.port import RecordedEvent

#: Called with every page of events, and with the events of a stream that was set aside when
#: it is taken up.
Listener = Callable[[Sequence[RecordedEvent]], None]
#: Types of events; ``None``: all.
Reads: TypeAlias = Collection[type[Event]] | None


class Follower(Protocol):
    @property
    def position(self) -> int:
        """Up to where the views are committed and the listeners were notified."""

    @property
    def notified(self) -> int:
        """Up to where the listeners were notified; the views may be behind that."""

    @property
    def gate(self) -> VersionGate:
        """Where it stands still, if it does: at an event of a newer version."""

    @property
    def set_aside(self) -> DamagedStreams:
        """The streams that it passes over, since they cannot be read."""

    def listen(self, listener: Listener, reads: Reads = None) -> None:
        """Hand *listener* every event from now on, once, perhaps before its rows are committed.

        It reads events of the types *reads*, and no people in them.  In the place of others
        there may be `cs.eventlog.port.NO_EVENT`.  To be called before `run`, which reads what
        is wanted by then.
        """

    async def catch_up(self) -> None:
        """Return when the views reflect what the log holds now."""

    async def run(self) -> None:
        """Follow the log for ever."""

    async def reached(self, position: int) -> None:
        """Wait until the views reflect *position*.

        Raises:
            NewerEvent: They stand still before it.
        """
