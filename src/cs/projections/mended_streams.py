"""Applying to views what they passed over of streams that can be read again."""

import time
from collections.abc import Callable, Sequence

from structlog import get_logger

from cs.eventlog.damage import PAGE, DamagedStreams, RetrySchedule
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.mapper import DataKeys
from cs.eventlog.port import EventLog, RecordedEvent
from cs.projections.sealer import sealer
from cs.projections.set_aside import ASIDE, SET_ASIDE, AsideRow, TakeUp, damage_of
from cs.projections.views import Views

log = get_logger()


class MendedStreams:
    """Tries streams that *views* have set aside, each as often as is worth it.

    Args:
        set_aside: Is notified of those that cannot be read yet.
        epoch: Of the lease under which views are written, if there is one.
        retry_s: Between two tries of a stream, at first.
        on_events: Is called with events that were applied late.

    Raises:
        LogUnavailable: From every method.
    """

    def __init__(
        self,
        events: EventLog,
        views: Views,
        keys: DataKeys,
        set_aside: DamagedStreams,
        *,
        epoch: int | None,
        retry_s: float,
        on_events: Callable[[Sequence[RecordedEvent]], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events = events
        self._views = views
        self._keys = keys
        self._set_aside = set_aside
        self._epoch = epoch
        self._retry_s = retry_s
        self._on_events = on_events
        self._retries = RetrySchedule(events, monotonic)

    async def note(self) -> None:
        """Note every stream that the views have set aside."""
        for _, row in await self._rows():
            self._set_aside.note(damage_of(row))

    async def take_up(self, checkpoint: int) -> bool:
        """Apply to views at *checkpoint* what they passed over and can be read now.

        Returns:
            Whether an event can be read again that no stream was known of: the views must be
            rebuilt, since it is unknown what of its stream was applied without it.
        """
        lost_is_back = False
        for row_id, row in await self._rows():
            damaged = damage_of(row)
            seen = await self._retries.seen(damaged)
            if not self._retries.is_due(row_id, seen):
                self._set_aside.note(damaged)
                continue
            try:
                if row.stream:
                    await self._take_up_stream(row, checkpoint)
                else:
                    await self._events.tail(row.position - 1, 1)
                    log.warning("views_made_anew", because_of=row.position)
                    lost_is_back = True
            except DamagedEvent as further:
                self._set_aside.note(further)
                self._retries.tried(row_id, seen, self._retry_s)
        return lost_is_back

    async def _rows(self) -> list[tuple[str, AsideRow]]:
        return await self._views.tagged(ASIDE, SET_ASIDE)

    async def _take_up_stream(self, row: AsideRow, checkpoint: int) -> None:
        after, is_last = row.version - 1, False
        while not is_last:
            events = await self._events.read(row.stream, after, PAGE)
            late = [each for each in events if each.position <= checkpoint]
            is_last = len(late) < PAGE
            seal = await sealer(self._keys, late)
            taken = TakeUp(row, late, checkpoint, is_last)
            if not await self._views.take_up(taken, seal, self._epoch):
                return
            self._on_events(late)
            row = taken.after
            after += len(late)
        log.info("views_took_up", position=row.position)
