"""Keeps the views up to date, a page of events at a time."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from structlog import get_logger

from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.damage import DamagedStreams, RetrySchedule, read_past
from cs.eventlog.follow import VersionGate, retry_while_unavailable
from cs.eventlog.port import (
    NOBODY,
    DamagedEvent,
    EventLog,
    LogUnavailable,
    RecordedEvent,
)
from cs.keystore.port import KeyStore
from cs.projections.folding import SHOWN, sealer
from cs.projections.following import Listener, Reads
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow, damage_of
from cs.projections.views import UNREADABLE, Checkpoint, Views, named
from cs.runtime import failpoints
from cs.runtime.coordination import Broadcast

log = get_logger()

#: How often views are looked at that nothing new comes for.
WATCH_S = 5.0
#: How long a process that shares a machine with many short calls rests after a page that no
#: call waits for: a page costs about as much with fifty searches in it as with five.
REST_S = 0.025
#: Events in one.
PAGE = 500
#: Events of a page while views are made, or catch up: a row that changes often is written once
#: a page.  More take memory, and keep who else writes waiting.
CATCH_UP_PAGE = 2_000


class ViewRunner:
    """Applies pages to *views*, which others may apply pages to as well.

    Args:
        epoch: Of the lease under which this runs, if it does.
        set_aside: Is notified of streams that cannot be read: nothing of them is applied from
            there on, until they are mended.
        rest_s: Wait after a page that no call waits for, so that the next one is larger.

    At an event of a newer version the views stand still; with a lease it gives up, so that
    a process that knows it may lead.
    """

    def __init__(
        self,
        events: EventLog,
        views: Views,
        keys: KeyStore,
        *,
        epoch: int | None = None,
        set_aside: DamagedStreams | None = None,
        rest_s: float = 0.0,
    ) -> None:
        self._rest_s = rest_s
        self.set_aside = set_aside or DamagedStreams(events)
        self._events = events
        self._views = views
        self._keys = keys
        self._epoch = epoch
        self._listeners: list[Listener] = []
        self.notified = 0
        self._moved = Broadcast()
        self._retries = RetrySchedule()
        self._look_at = time.monotonic() + WATCH_S
        self.position = 0
        self.gate = VersionGate("views")

    def listen(self, listener: Listener, reads: Reads = None) -> None:
        del reads  # it reads all of them itself
        self._listeners.append(listener)

    async def catch_up(self) -> None:
        """Bring the views up to the log's end; rebuild them if they are not of this log.

        They are ahead of it, or tell of another history, after an older log was restored.

        Raises:
            NewerEvent: The views hold all up to that event, and nothing of it.
        """
        checkpoint = await self._views.checkpoint()
        self.position = checkpoint.position
        # After the views: others move them on, and a log that was read before is shorter.
        head = await self._events.head()
        if self.position > head:
            log.warning("views_ahead_of_log", views=self.position, log=head)
            await self._reset()
        elif not await is_of_log(self._events, checkpoint):
            log.warning("views_of_another_log", views=self.position, log=head)
            await self._reset()
        while self.position < head:
            await self._apply(await self._page(self.position, CATCH_UP_PAGE))
        for _, row in await self._aside():
            self.set_aside.note(damage_of(row))
        self.notified = max(self.notified, self.position)

    async def _reset(self) -> None:
        await self._views.reset()
        self.position = 0

    async def _page(self, after: int, limit: int) -> Sequence[RecordedEvent]:
        return await read_past(self._events, after, limit, self.set_aside, SHOWN)

    async def run(self) -> None:
        """Follow the log for ever.

        Raises:
            NewerEvent: Such an event is next, and this runs under a lease.
            cs.postgres.errors.Fenced: Another runner leads by now.
        """
        read = partial(retry_while_unavailable, self._next_page)
        while True:
            page = await (read() if self._epoch is not None else self.gate.until_read(read))
            if not page:
                continue
            await self._apply(page)
            await retry_while_unavailable(self._views.retire)
            if self._rest_s and len(page) < PAGE and _nobody_waits_for(page):
                await asyncio.sleep(self._rest_s)

    async def _next_page(self) -> Sequence[RecordedEvent]:
        """Return the next events; empty if none came for a while.

        Looks at the views now and then: others rebuild them, and what is mended is taken up.
        """
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + WATCH_S
            before, self.position = self.position, await self._views.position()
            if self.position < before:
                log.warning("views_emptied", views=self.position, applied=before)
            with suppress(LogUnavailable):  # it is looked at again
                await self._take_up_mended()
        # Others may have moved the views on beyond what the listeners know.
        after = min(self.position, self.notified)
        page = await self._page(after, PAGE)
        if not page:
            with suppress(TimeoutError):
                async with asyncio.timeout(WATCH_S):
                    await self._events.grown(after)
        return page

    async def _aside(self) -> list[tuple[str, AsideRow]]:
        return await self._views.tagged(ASIDE, SET_ASIDE)

    async def _take_up_mended(self) -> None:
        """Apply what the views passed over of streams that can be read now.

        If an event can be read again whose stream was not known, they are rebuilt: it is not
        known what of that stream was applied without it.
        """
        for row_id, row in await self._aside():
            damaged = damage_of(row)
            if not self._retries.is_due(row_id):
                self.set_aside.note(damaged)
                continue
            try:
                if row.stream:
                    await self._take_up_stream(row_id, row)
                    continue
                await self._events.tail(row.position - 1, 1)
            except DamagedEvent as further:
                self.set_aside.note(further)
            else:
                log.warning("views_rebuilt", because_of=row.position)
                await self._reset()
                return

    async def _take_up_stream(self, row_id: str, row: AsideRow) -> None:
        while not row.mended:
            events = await self._events.read(row.stream, row.version - 1, PAGE)
            late = [each for each in events if each.position <= self.position]
            seal = await sealer(self._keys, late)
            try:
                taken = await self._views.take_up(
                    row,
                    late,
                    seal,
                    checkpoint=self.position,
                    is_last=len(late) < PAGE,
                    epoch=self._epoch,
                )
            except DamagedEvent:  # the events can be read, and make no sense
                self._retries.tried(row_id, WATCH_S)
                raise
            if taken is None:
                return
            self._notify(late)
            row = taken
        log.info("views_took_up", position=row.position)

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
        # Only of what is new: views that are rebuilt begin with the oldest event.
        if new := [recorded for recorded in page if recorded.position > self.notified]:
            self._notify(new)
            self.notified = new[-1].position
        self._moved.notify_all()
        failpoints.reach("projection.after-wake")

    def _notify(self, events: Sequence[RecordedEvent]) -> None:
        for listener in self._listeners:
            listener(events)


async def is_of_log(events: EventLog, checkpoint: Checkpoint) -> bool:
    """Return whether the event at *checkpoint* is the one that was seen there."""
    if not checkpoint.position:
        return True
    found = await read_past(events, checkpoint.position - 1, 1, wanted=NOBODY)
    names = [named(recorded) for recorded in found]
    return names == [checkpoint.last_event] or UNREADABLE in [*names, checkpoint.last_event]


def _nobody_waits_for(page: Sequence[RecordedEvent]) -> bool:
    """Return whether *page* is of several searches that were answered as they were made.

    A reader of one of them meanwhile folds what the views lack
    (`cs.projections.reading`).  A search that is settled later has its caller waiting; and
    where they come one by one a rest spares nothing, and keeps waiting what comes next.
    """
    admitted, settled = set(), set()
    for recorded in page:
        match recorded.event:
            case SearchAdmitted(search=search):
                admitted.add(search)
            case SearchSettled(search=search):
                settled.add(search)
            case _:
                return False
    return len(admitted) > 1 and admitted == settled
