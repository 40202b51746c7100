"""Views made anew beside the running ones, compared with them, and put in their place.

The service goes on meanwhile: it reads and moves on its own tables.  Whoever is interrupted
leaves tables that nobody uses; the next one drops them, and else whoever keeps the views
does after a day (docs/decisions, 30).
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from cs.eventlog.damage import read_past
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.mapper import DataKeys
from cs.eventlog.port import EventLog
from cs.projections.anew import AnewViews, NotReplayable, RowsAt
from cs.projections.comparing import RowDifference, ViewComparison, compare
from cs.projections.port import Views
from cs.projections.projection import Projection
from cs.projections.sealer import sealer

#: Events applied in one transaction.
PAGE = 500
#: Events that may be missing when the places are changed.
LAST_PAGE = 5_000
#: How often it is tried to change places while the running views move on.
TRIES = 100

Phase = Literal["making", "comparing", "switching"]
Kept = Literal["equal", "not-asked", "damaged-log", "lost-keys"]


class ReplayProgress(msgspec.Struct, frozen=True):
    """How far it is.

    Attributes:
        phase: What is done now.
        position: That the rows made anew reflect.
        running: That the running ones reflect; the difference is the lag.
        rows: Compared so far.
    """

    phase: Phase
    position: int
    running: int
    rows: int = 0


class ReplaySummary(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    Attributes:
        position: At which the rows were compared.
        rows: Compared, by table.
        different: Of those, by table; not there: none.
        differences: The first of them (`cs.projections.comparing.KEPT`).
        switched: Whether the rows made anew are the running ones now.
        kept: Why not.
        switched_at: At which position.
    """

    position: int
    rows: dict[str, int]
    different: dict[str, int]
    differences: Sequence[RowDifference]
    switched: bool = False
    kept: Kept | None = None
    switched_at: int | None = None


class ViewReplay:
    """Makes views anew beside *running*.

    Args:
        events: The log.
        running: Those that the service reads.
        anew: Where they are made.
        keys: Seal and open what was found.
        projections: Of the views.
        progress: Told how far it is, after every page.
        pause: How long others may write after a page that took so long, in seconds.
    """

    def __init__(
        self,
        events: EventLog,
        running: Views,
        anew: AnewViews,
        keys: DataKeys,
        projections: Sequence[Projection],
        *,
        progress: Callable[[ReplayProgress], None] = lambda _: None,
        pause: Callable[[float], float] = lambda took_s: took_s,
    ) -> None:
        self._events = events
        self._running = running
        self._anew = anew
        self._keys = keys
        self._projections = projections
        self._progress = progress
        self._pause = pause

    async def run(self, *, switch: bool) -> ReplaySummary:
        """Make, compare and, if *switch*, change places where the rows differ.

        Raises:
            NotReplayable: The running views are empty, still made themselves, were made anew
                meanwhile, or are others' to change.
            LogUnavailable: Log, views or keys cannot be used now.
        """
        await self._check_running()
        await self._anew.clear()
        try:
            if switch:
                await self._anew.check_rights()
            return await self._run(switch=switch)
        finally:
            # Also after Ctrl-C: else they would lie there until the next time, or for a day.
            with suppress(LogUnavailable):
                await self._anew.discard()

    async def _run(self, *, switch: bool) -> ReplaySummary:
        lost_before = self._keys.lost.read.total()
        await self._make()
        async with self._anew.running() as rows:
            await self._advance(rows.position)
            # Of the running rows it may be that keys are wrong: of those made anew, the log's.
            lost = self._keys.lost.read.total() > lost_before
            found = await self._compare(rows)
        replayed = ReplaySummary(
            position=rows.position,
            rows=dict(found.rows),
            different=dict(found.different),
            differences=found.differences,
        )
        kept = self._kept(found, switch=switch, lost=lost)
        if kept is not None:
            return msgspec.structs.replace(replayed, kept=kept)
        switched_at = await self._switch()
        return msgspec.structs.replace(replayed, switched=True, switched_at=switched_at)

    async def _check_running(self) -> None:
        position = await self._running.position()
        copies = await self._running.copies()
        if not position or position < copies.position:
            raise NotReplayable(
                "this version's views are not made yet: start the service, or wait until it "
                "has made them (views_behind on /readyz)"
            )
        if position > await self._events.head():
            raise NotReplayable("the views are ahead of the log: start the service")

    async def _make(self) -> None:
        """Apply events until the running views are reached."""
        while (reached := await self._running.position()) > await self._anew.views.position():
            await self._advance(reached)

    async def _advance(self, upto: int) -> None:
        """Apply what is missing up to *upto*.

        Raises:
            NotReplayable: The views made anew are beyond it.
        """
        position = await self._anew.views.position()
        while position < upto:
            began = time.monotonic()
            page = await read_past(self._events, position, min(PAGE, upto - position))
            if not page:
                raise NotReplayable("the views are ahead of the log: start the service")
            seal = await sealer(self._keys, page)
            position = await self._anew.views.apply(page, seal)
            self._progress(ReplayProgress("making", position, upto))
            await asyncio.sleep(self._pause(time.monotonic() - began))
        if position > upto:
            raise NotReplayable(
                "the running views were made anew meanwhile; they were left as they are"
            )

    async def _compare(self, rows: RowsAt) -> ViewComparison:
        def compared(found: ViewComparison) -> None:
            position = rows.position
            count = found.rows.total()
            self._progress(ReplayProgress("comparing", position, position, count))

        return await compare(
            self._projections, rows.page, self._anew.page, self._keys, compared
        )

    def _kept(self, found: ViewComparison, *, switch: bool, lost: bool) -> Kept | None:
        """Return why the running views are to stay, if they are.

        What the log says is better than what they say, unless some of it cannot be read now:
        they may know it from before.
        """
        if not found.different:
            return "equal"
        if not switch:
            return "not-asked"
        if found.newly_aside:
            return "damaged-log"
        return "lost-keys" if lost else None

    async def _switch(self) -> int:
        """Change places; return at which position.

        Raises:
            NotReplayable: The running views move on too fast.
        """
        for _ in range(TRIES):
            position = await self._anew.views.position()
            page = await read_past(self._events, position, LAST_PAGE)
            seal = await sealer(self._keys, page)
            self._progress(ReplayProgress("switching", position, position + len(page)))
            if await self._anew.take_place(page, seal):
                return await self._running.position()
            await self._advance(await self._running.position())
        raise NotReplayable("the running views move on too fast; they were left as they are")
