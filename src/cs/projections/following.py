"""Follows views that another process keeps up to date.

Listeners are notified of a page when the views' checkpoint has reached its end: as with
`cs.projections.runner.ViewRunner`, whoever was woken finds the rows.  Early listeners need no
rows, and are notified even while the views stand still: a revoked key must not work on.

What nobody listens for is not read, and people stay sealed.  Both kinds are told from the
newest events in memory, so the store is read once (`cs.eventlog.recent`).
"""

import asyncio
from collections.abc import Callable
from functools import partial

from structlog import get_logger

from cs.eventlog.damage import DamagedStreams, events_since, read_past
from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.eventlog.follow import follow, retry_while_unavailable
from cs.eventlog.port import EventLog, EventNeeds
from cs.eventlog.version_gate import VersionGate
from cs.projections.follower import Listener, Reads
from cs.projections.set_aside import ASIDE, SET_ASIDE, damage_of, row_id
from cs.projections.views import Views
from cs.runtime.coordination import Broadcast

log = get_logger()


class ViewFollower:
    """Reads only; `cs.projections.follower.Follower`."""

    def __init__(
        self, events: EventLog, views: Views, set_aside: DamagedStreams | None = None
    ) -> None:
        self.set_aside = set_aside or DamagedStreams(events)
        self._events = events
        self._views = views
        self._listeners: list[Listener] = []
        self._wanted = EventNeeds(frozenset(), opened=frozenset())
        self._checkpoint = 0  # of the views; falls when they are made anew
        self._notified = 0  # up to where listeners were notified
        self._early: list[Listener] = []
        self._early_position = 0  # the same of early listeners
        self._moved = Broadcast()
        self.gate = VersionGate("views")
        self._early_gate = VersionGate("keys")

    @property
    def position(self) -> int:
        return min(self._checkpoint, self._notified)

    def listen(self, listener: Listener, reads: Reads = None) -> None:
        self._listeners.append(listener)
        self._want(reads)

    def listen_early(self, listener: Listener, reads: Reads = None) -> None:
        self._early.append(listener)
        self._want(reads)

    def _want(self, reads: Reads) -> None:
        """Read events of the types *reads* too, if not all are read already."""
        before = self._wanted.types
        types = None if before is None or reads is None else before | frozenset(reads)
        self._wanted = EventNeeds(types, opened=frozenset())

    async def catch_up(self) -> None:
        """Wait until the views reflect what the log holds now, however long they take.

        Listeners are not notified of what was before.
        """
        head = await self._events.head()
        await self._look()
        if self._checkpoint < head:
            log.info("views_waited_for", views=self._checkpoint, log=head)
        while self._checkpoint < head:
            await self.gate.until_read(partial(self._look_on, self._checkpoint))
        for _, row in await self._views.tagged(ASIDE, SET_ASIDE):
            self.set_aside.note(damage_of(row))
        self._notified = max(self._notified, head)
        self._early_position = max(self._early_position, head)

    async def run(self) -> None:
        with self.set_aside.on_mended(self._notify_of_late):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch())
                tasks.create_task(self._notify())
                tasks.create_task(self._notify_early())

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
            self._notified,
            gate=self.gate,
            set_aside=self.set_aside,
            wanted=self._wanted,
        )
        async for page in pages:
            end = page[-1].position
            await self._until(partial(self._holds, end))
            for listener in self._listeners:
                listener(page)
            self._notified = end
            self._moved.notify_all()

    async def _notify_early(self) -> None:
        pages = follow(
            self._events, self._early_position, gate=self._early_gate, wanted=self._wanted
        )
        async for page in pages:
            for listener in self._early:
                listener(page)
            self._early_position = page[-1].position

    async def _notify_of_late(self, damaged: DamagedEvent) -> None:
        """Notify of what was passed over, once the rows of the views reflect it.

        Raises:
            LogUnavailable: They do not yet, or it cannot be read after all.
        """
        aside = dict(await self._views.tagged(ASIDE, SET_ASIDE))
        if row_id(damaged.position, damaged.stream) in aside:
            raise LogUnavailable("the views have not taken up what was mended")
        async for page in events_since(self._events, damaged):
            for listener in (*self._early, *self._listeners):
                listener(page)
        self._moved.notify_all()

    def _holds(self, position: int) -> bool:
        return self._checkpoint >= position

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._moved.wait()
