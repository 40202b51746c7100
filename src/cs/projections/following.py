"""Follows views that another process keeps up to date.

Listeners are notified of an event as soon as it is stored, also while the views stand still: a
revoked key must not work on.  A listener that needs its rows awaits `ViewFollower.reached`.

Events without a listener are not read, and people stay sealed.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Protocol, TypeAlias

from structlog import get_logger

from cs.domain.messages import Event
from cs.eventlog.damage import DamagedStreams, events_since, read_past
from cs.eventlog.follow import VersionGate, follow, retry_while_unavailable
from cs.eventlog.port import DamagedEvent, EventLog, EventNeeds, LogUnavailable, RecordedEvent
from cs.projections.set_aside import ASIDE, SET_ASIDE, damage_of, row_id
from cs.projections.views import Views
from cs.runtime.coordination import Broadcast

log = get_logger()

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


class ViewFollower:
    """A `Follower` that reads only."""

    def __init__(
        self, events: EventLog, views: Views, set_aside: DamagedStreams | None = None
    ) -> None:
        self.set_aside = set_aside or DamagedStreams(events)
        self._events = events
        self._views = views
        self._listeners: list[Listener] = []
        self._wanted = EventNeeds(frozenset(), opened=frozenset())
        self._checkpoint = 0  # of the views; falls when they are rebuilt
        self.notified = 0
        self._moved = Broadcast()
        self.gate = VersionGate("views")

    @property
    def position(self) -> int:
        return min(self._checkpoint, self.notified)

    def listen(self, listener: Listener, reads: Reads = None) -> None:
        self._listeners.append(listener)
        before = self._wanted.types
        types = None if before is None or reads is None else before | frozenset(reads)
        self._wanted = EventNeeds(types, opened=frozenset())

    async def catch_up(self, *, waits: bool = True) -> None:
        """Wait until the views reflect what the log holds now, however long they take.

        Listeners are not notified of what was before.  Without *waits* that is all it does:
        the views may be behind, and their process away.
        """
        head = await self._events.head()
        await self._look()
        if self._checkpoint < head:
            log.info(
                "views_waited_for" if waits else "views_behind",
                views=self._checkpoint,
                log=head,
            )
        while waits and self._checkpoint < head:
            await self.gate.until_read(partial(self._look_on, self._checkpoint))
        for _, row in await self._views.tagged(ASIDE, SET_ASIDE):
            self.set_aside.note(damage_of(row))
        self.notified = max(self.notified, head)

    async def run(self) -> None:
        with self.set_aside.on_mended(self._notify_of_late):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch())
                tasks.create_task(self._notify())

    async def reached(self, position: int) -> None:
        while self.position < position:
            self.gate.check()
            await self._moved.wait()

    async def _watch(self) -> None:
        while True:
            await self._look()

    async def _look(self) -> None:
        self._checkpoint = await retry_while_unavailable(
            partial(self._views.moved, self._checkpoint)
        )
        self._moved.notify_all()

    async def _look_on(self, checkpoint: int) -> None:
        """Look whether the views moved on from *checkpoint*.

        Raises:
            NewerEvent: They did not, and that event may be why.
        """
        await self._look()
        if self._checkpoint == checkpoint:
            look = partial(read_past, self._events, checkpoint, 1, wanted=self._wanted)
            await retry_while_unavailable(look)

    async def _notify(self) -> None:
        pages = follow(
            self._events,
            self.notified,
            gate=self.gate,
            set_aside=self.set_aside,
            wanted=self._wanted,
        )
        async for page in pages:
            for listener in self._listeners:
                listener(page)
            self.notified = page[-1].position
            self._moved.notify_all()

    async def _notify_of_late(self, damaged: DamagedEvent) -> None:
        """Notify of what was passed over, once the rows of the views reflect it.

        Raises:
            LogUnavailable: They do not yet, or it cannot be read after all.
        """
        aside = dict(await self._views.tagged(ASIDE, SET_ASIDE))
        if row_id(damaged.position, damaged.stream) in aside:
            raise LogUnavailable("the views have not taken up what was mended")
        async for page in events_since(self._events, damaged):
            for listener in self._listeners:
                listener(page)
        self._moved.notify_all()
