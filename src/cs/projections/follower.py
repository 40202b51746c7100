"""What readers and the ring of keys need of whoever follows the log for the views."""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeAlias

from structlog import get_logger

from cs.domain.messages import Event
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.port import RecordedEvent
from cs.eventlog.version_gate import VersionGate
from cs.projections.port import Views

log = get_logger()

#: How often it is looked whether rows were replaced: views may move many times a second.
EVERY_S = 1.0

#: Called with every page once its rows are committed, and with the events of a stream that
#: was set aside when it is taken up.
Listener = Callable[[Sequence[RecordedEvent]], None]
#: Types of events; ``None``: all.
Reads: TypeAlias = Collection[type[Event]] | None
#: Called when rows made anew have taken the place of the views': what was read of them before
#: may have been wrong.
ReplacedListener = Callable[[], None]


class Edition:
    """Notices that rows made anew have taken the place of those of *views*."""

    def __init__(
        self, views: Views, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._views = views
        self._monotonic = monotonic
        self._looked_at = -EVERY_S
        self._seen: int | None = None  # None: nobody has looked
        self._listeners: list[ReplacedListener] = []

    def listen(self, listener: ReplacedListener) -> None:
        self._listeners.append(listener)

    async def look(self) -> None:
        """Look whether it happened, every `EVERY_S` at most, and call the listeners if it did.

        Raises:
            LogUnavailable: The views cannot be read now.
        """
        now = self._monotonic()
        if now - self._looked_at < EVERY_S:
            return
        edition = await self._views.edition()
        self._looked_at = now
        before, self._seen = self._seen, edition
        if before is not None and edition != before:
            log.info("views_replaced", edition=edition)
            for listener in self._listeners:
                listener()


class Follower(Protocol):
    @property
    def position(self) -> int:
        """Up to where the views are committed and the listeners were notified."""

    @property
    def gate(self) -> VersionGate:
        """Where it stands still, if it does: at an event of a newer version."""

    @property
    def set_aside(self) -> DamagedStreams:
        """The streams that it passes over, since they cannot be read."""

    def listen(self, listener: Listener, reads: Reads = None) -> None:
        """Hand *listener* every page from now on.

        It reads events of the types *reads*, and no people in them.  In the place of others
        there may be `cs.eventlog.port.NO_EVENT`.  To be called before `run`, which reads what
        is wanted by then.
        """

    def listen_early(self, listener: Listener, reads: Reads = None) -> None:
        """Hand *listener* every event from now on, once, also before its rows are committed.

        As `listen` otherwise.
        """

    def listen_replaced(self, listener: ReplacedListener) -> None:
        """Call *listener* whenever rows made anew have taken the place of the views'."""

    async def catch_up(self) -> None:
        """Return when the views reflect what the log holds now."""

    async def run(self) -> None:
        """Follow the log for ever."""

    async def reached(self, position: int) -> None:
        """Wait until the views reflect *position*.

        Raises:
            NewerEvent: They stand still before it.
        """
