"""Keeps the views up to date, a page of events at a time."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from structlog import get_logger

from cs import failpoints
from cs.eventlog.follow import follow, patiently
from cs.eventlog.mapper import DataKeys
from cs.eventlog.port import EventLog, Recorded
from cs.eventlog.sealing import seal_bytes
from cs.projections.projection import SealBody
from cs.projections.searches import key_of
from cs.projections.store import ViewStore, named

log = get_logger()

#: Hears of every page once its rows are committed.
Listener = Callable[[Sequence[Recorded]], None]


class ViewRunner:
    def __init__(self, events: EventLog, store: ViewStore, keys: DataKeys) -> None:
        self._events = events
        self._store = store
        self._keys = keys
        self._listeners: list[Listener] = []
        self._moved = asyncio.Event()
        self.position = 0

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    async def catch_up(self) -> None:
        """Bring the views up to the log's end; rebuild them if they are not of this log.

        They are ahead of it, or tell of another history, after an older log was restored.
        """
        head = await self._events.head()
        self.position = await asyncio.to_thread(self._store.position)
        if self.position > head:
            log.warning("views_ahead_of_log", views=self.position, log=head)
            await asyncio.to_thread(self._store.reset)
            self.position = 0
        elif not await self._same_history():
            log.warning("views_of_another_log", views=self.position, log=head)
            await asyncio.to_thread(self._store.reset)
            self.position = 0
        while self.position < head:
            await self._apply(await self._events.tail(self.position))

    async def _same_history(self) -> bool:
        """Return whether the event at the checkpoint is the one that was applied."""
        if not self.position:
            return True
        found = await self._events.tail(self.position - 1, 1)
        applied = await asyncio.to_thread(self._store.last_event)
        if await asyncio.to_thread(self._store.position) != self.position:
            return True  # a running service moves them on; it looked when it started
        return [named(recorded) for recorded in found] == [applied]

    async def run(self) -> None:
        """Follow the log for ever."""
        async for page in follow(self._events, self.position):
            await self._apply(page)
            while self.position < page[-1].position:  # somebody else rebuilt the views
                await self._apply(await patiently(partial(self._events.tail, self.position)))

    async def reached(self, position: int) -> None:
        """Wait until the views reflect *position*."""
        while self.position < position:
            await self._moved.wait()

    async def _apply(self, page: Sequence[Recorded]) -> None:
        seal = await sealer(self._keys, page)
        failpoints.reach("projection.before-apply")
        self.position = await patiently(
            partial(asyncio.to_thread, self._store.apply, page, seal)
        )
        failpoints.reach("projection.after-commit")
        for listener in self._listeners:
            listener(page)
        self._moved.set()
        self._moved = asyncio.Event()
        failpoints.reach("projection.after-wake")


async def sealer(keys: DataKeys, page: Sequence[Recorded]) -> SealBody:
    """Return what seals the bodies of *page*; their data keys are durable by then."""
    names = [name for recorded in page if (name := key_of(recorded)) is not None]
    opened: Mapping[str, bytes] = await keys.ensure(names) if names else {}

    def seal(name: str, body: bytes) -> bytes:
        key = opened.get(name)
        return b"" if key is None else seal_bytes(key, name, body)

    return seal
