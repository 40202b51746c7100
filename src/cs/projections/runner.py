"""Keeps the views up to date, a page of events at a time."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from structlog import get_logger

from cs.eventlog.damage import PAGE, DamagedStreams, read_past
from cs.eventlog.errors import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.follow import follow, retry_while_unavailable
from cs.eventlog.mapper import DataKeys
from cs.eventlog.port import EventLog, RecordedEvent
from cs.eventlog.retries import RetrySchedule
from cs.eventlog.sealing import seal_bytes
from cs.eventlog.version_gate import VersionGate
from cs.keystore.errors import KeysUnavailable
from cs.projections.follower import Listener
from cs.projections.generation import NO_COPIES, Copies, Generation
from cs.projections.port import UNREADABLE, Views, named
from cs.projections.projection import SealBody
from cs.projections.searches import key_of
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow, TakeUp, damage_of
from cs.runtime import failpoints
from cs.runtime.broadcast import Broadcast

log = get_logger()

#: How often views are looked at that nothing new comes for.
WATCH_S = 5.0


class ViewRunner:
    """Applies pages to *views*, which others may apply pages to as well.

    Args:
        epoch: Of the lease under which this runs, if it does.
        set_aside: Is told of streams that cannot be read: nothing of them is applied from
            there on, until they are mended.

    At an event of a newer version the views stand still; with a lease it gives up, so that
    a process that knows it may lead.
    """

    def __init__(
        self,
        events: EventLog,
        views: Views,
        keys: DataKeys,
        *,
        epoch: int | None = None,
        watch_s: float = WATCH_S,
        set_aside: DamagedStreams | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.set_aside = set_aside or DamagedStreams(events)
        self._retries = RetrySchedule(events, monotonic)
        self._turn = asyncio.Lock()
        self._watch_s = watch_s
        self._events = events
        self._views = views
        self._keys = keys
        self._epoch = epoch
        self._listeners: list[Listener] = []
        self._early: list[Listener] = []
        self._early_position = 0  # what those who listen early have heard of
        self._moved = Broadcast()
        self.position = 0
        self.gate = VersionGate("views")

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def listen_early(self, listener: Listener) -> None:
        self._early.append(listener)

    async def catch_up(self) -> None:
        """Bring the views up to the log's end; rebuild them if they are not of this log.

        They are ahead of it, or tell of another history, after an older log was restored.

        Raises:
            NewerEvent: The views hold all up to that event, and nothing of it.
        """
        self.position = await self._views.position()
        copies = await self._views.copies()
        if not self.position and not copies.projections:
            await self._begin_with_copies()
            self.position = await self._views.position()
            copies = await self._views.copies()
        reached = max(self.position, copies.position)
        # After the views: others move them on, and a log that was read before is shorter.
        head = await self._events.head()
        if reached > head:
            log.warning("views_ahead_of_log", views=reached, log=head)
            await self._views.reset()
            self.position = 0
        elif not (await self._same_history() and await self._is_of_log(copies)):
            log.warning("views_of_another_log", views=self.position, log=head)
            await self._views.reset()
            self.position = 0
        while self.position < head:
            await self._apply(await self._page())
        await self._note_set_aside()
        self._early_position = max(self._early_position, self.position)

    async def _begin_with_copies(self) -> None:
        """Begin empty views with what another generation has of this log, if one has any."""
        others = await self._views.others()
        head = await self._events.head() if others else 0
        for other in others:
            try:
                copies = await self._copied(other, head)
            except LogUnavailable as error:  # the others may do, and else the log does
                log.warning("views_not_copied", generation=other.name, why=str(error))
                continue
            if copies.projections:
                names = " ".join(copies.projections)
                log.info("views_copied", projections=names, upto=copies.position)
                return

    async def _copied(self, other: Generation, head: int) -> Copies:
        if other.position > head or not await self._is_of_log(other):
            return NO_COPIES
        return await self._views.copy_from(other, self._epoch)

    async def _same_history(self) -> bool:
        """Return whether the event at the checkpoint is the one that was applied."""
        applied = await self._views.last_event()
        if await self._views.position() != self.position:
            return True  # a running service moves them on; it looked when it started
        return await self._is_of_log(Copies(position=self.position, last_event=applied))

    async def _is_of_log(self, rows: Generation | Copies) -> bool:
        """Return whether the last event that *rows* reflect is the one at that position."""
        if not rows.position:
            return True
        found = await read_past(self._events, rows.position - 1, 1)
        names = [named(recorded) for recorded in found]
        return names == [rows.last_event] or UNREADABLE in [*names, rows.last_event]

    async def _page(self) -> Sequence[RecordedEvent]:
        return await read_past(self._events, self.position, set_aside=self.set_aside)

    async def run(self) -> None:
        """Follow the log for ever.

        Raises:
            NewerEvent: Such an event is next, and this runs under a lease.
            cs.postgres.errors.Fenced: Another runner leads by now.
        """
        watching = asyncio.create_task(self._watch(), name="views-watch")
        try:
            await self._follow()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _follow(self) -> None:
        gate = self.gate if self._epoch is None else None
        following = follow(self._events, self.position, gate=gate, set_aside=self.set_aside)
        async for page in following:
            async with self._turn:
                await self._apply(page)
                await self._apply_up_to(page[-1].position)
            await retry_while_unavailable(self._views.retire)

    async def _apply_up_to(self, position: int) -> None:
        """Apply what is missing up to *position*, if somebody else rebuilt the views."""
        while self.position < position:
            await self._apply(await retry_while_unavailable(self._page))

    async def _watch(self) -> None:
        """Notice views that were emptied while nothing happens, and make them anew."""
        while True:
            await asyncio.sleep(self._watch_s)
            async with self._turn:
                with suppress(NewerEvent):  # whoever follows the log holds at it, and says so
                    await self._look()
                with suppress(LogUnavailable):  # it is looked at again
                    await self._take_up_mended()

    async def _look(self) -> None:
        before = self.position
        found = await retry_while_unavailable(self._views.position)
        if found < before:
            log.warning("views_emptied", views=found, applied=before)
            self.position = found
            await self._apply_up_to(before)

    # Streams that were set aside.

    async def _aside(self) -> list[tuple[str, AsideRow]]:
        return await self._views.tagged(ASIDE, SET_ASIDE)

    async def _note_set_aside(self) -> None:
        for _, row in await self._aside():
            self.set_aside.note(damage_of(row))

    async def _take_up_mended(self) -> None:
        """Apply what was passed over of streams that can be read again."""
        for place, row in await self._aside():
            damaged = damage_of(row)
            seen = await self._retries.seen(damaged)
            if not self._retries.is_due(place, seen):
                self.set_aside.note(damaged)
                continue
            try:
                if row.stream:
                    await self._take_up(place, row)
                else:
                    await self._take_up_lost(row)
            except DamagedEvent as further:
                self.set_aside.note(further)
                self._retries.tried(place, seen, self._watch_s)

    async def _take_up(self, place: str, row: AsideRow) -> None:
        after, whole = row.version - 1, False
        while not whole:
            events = await self._events.read(row.stream, after, PAGE)
            late = [each for each in events if each.position <= self.position]
            whole = len(late) < PAGE
            seal = await sealer(self._keys, late)
            taken = TakeUp(place, late, self.position, whole)
            if not await self._views.take_up(taken, seal, self._epoch):
                return
            for listener in (*self._listeners, *self._early):
                listener(late)
            after += len(late)
        log.info("views_took_up", position=row.position)

    async def _take_up_lost(self, row: AsideRow) -> None:
        """Make the views anew: nobody knows what of its stream was applied without it."""
        await self._events.tail(row.position - 1, 1)
        log.warning("views_made_anew", because_of=row.position)
        before = self.position
        await self._views.reset()
        self.position = 0
        await self._apply_up_to(before)

    async def reached(self, position: int) -> None:
        while self.position < position:
            self.gate.check()
            await self._moved.wait()

    async def _apply(self, page: Sequence[RecordedEvent]) -> None:
        seal = await retry_while_unavailable(partial(sealer, self._keys, page))
        failpoints.reach("projection.before-apply")
        self.position = await retry_while_unavailable(
            partial(self._views.apply, page, seal, self._epoch)
        )
        failpoints.reach("projection.after-commit")
        for listener in self._listeners:
            listener(page)
        self._tell_early(page)
        self._moved.notify_all()
        failpoints.reach("projection.after-wake")

    def _tell_early(self, page: Sequence[RecordedEvent]) -> None:
        """Tell of what was not heard yet: views that are made anew begin with the oldest."""
        new = [recorded for recorded in page if recorded.position > self._early_position]
        if new:
            self._early_position = new[-1].position
            for listener in self._early:
                listener(new)


async def sealer(keys: DataKeys, page: Sequence[RecordedEvent]) -> SealBody:
    """Return what seals the bodies of *page*; their data keys are durable by then.

    Raises:
        LogUnavailable: The key store is away.
    """
    names = [name for recorded in page if (name := key_of(recorded)) is not None]
    try:
        opened: Mapping[str, bytes] = await keys.ensure(names) if names else {}
    except KeysUnavailable as error:
        raise LogUnavailable(str(error)) from error

    def seal(name: str, body: bytes) -> bytes:
        key = opened.get(name)
        return b"" if key is None else seal_bytes(key, name, body)

    return seal
