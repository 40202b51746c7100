"""Everything that is due: the one memory of what a driver still has to do.

For each lookup that runs: its deadline, its retries and the work that stages have in hand.
And the searches that wait for a lookup.  It holds no truth: a driver builds it when it
begins to lead and then keeps it up to date with the log's tail.  Publishing is not part of it:
the relay's position in the log says what was published.
"""

import asyncio
import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from cs.domain.brand.events import AttemptFailed, LookupFinished, LookupStarted, StageIssued
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.stages.table import closed_work, is_optional
from cs.domain.stages.work import StageName
from cs.eventlog.port import RecordedEvent
from cs.runtime.clock import Clock

#: Lookup, stage, item and number of an attempt.
AttemptId = tuple[str, StageName, str, int]


class Attempt(msgspec.Struct, eq=False):
    """The newest attempt at a piece of work that was issued and is not answered yet."""

    lookup: str
    stage: StageName
    item: str
    attempt: int
    alive_at: float  # monotonic seconds: issued, or last known to be worked on

    @property
    def id(self) -> AttemptId:
        return self.lookup, self.stage, self.item, self.attempt


class Schedule:
    """The timers, work in flight and waiting searches of a driver.

    Args:
        clock: When timers are due.
        monotonic: Seconds of real time, by which work is silent.

    Attributes:
        running: The lookups that run.
    """

    def __init__(self, clock: Clock, monotonic: Callable[[], float]) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self.running: set[str] = set()
        self._timers: list[tuple[datetime, str]] = []  # a heap
        self._timer_set = asyncio.Event()
        self._in_flight: dict[str, dict[tuple[StageName, str], Attempt]] = {}  # by lookup
        self._waiting: dict[str, dict[str, str]] = {}  # lookup -> search -> key

    def note(self, recorded: RecordedEvent) -> None:
        """Remember what *recorded* changes; noting it twice changes nothing."""
        closed = closed_work(recorded.event)
        if closed is not None:
            self._close(closed.lookup, closed.stage, closed.item)
        match recorded.event:
            case LookupStarted(lookup=lookup, deadline_at=deadline_at):
                self.running.add(lookup)
                self.set_timer(deadline_at, lookup)
            case StageIssued(lookup=lookup, stage=stage, item=item, attempt=attempt):
                self.issue(lookup, stage, item, attempt)
                if is_optional(stage):
                    self.set_timer(recorded.event.deadline_at, lookup)
            case AttemptFailed(lookup=lookup, stage=stage, item=item, retry_at=retry_at):
                self._close(lookup, stage, item)
                if retry_at is not None:
                    self.set_timer(retry_at, lookup)
            case LookupFinished(lookup=lookup):
                self.finish(lookup)
            case SearchAdmitted(search=search, lookup=lookup):
                self.wait(search, recorded.stream.removeprefix("key-"), lookup)
            case SearchSettled(search=search, lookup=lookup):
                self.settled(search, lookup)
            case _:
                pass

    def finish(self, lookup: str) -> None:
        """Forget *lookup*, but not who waits for it; its timers fire in vain."""
        self.running.discard(lookup)
        self._in_flight.pop(lookup, None)

    # Searches.

    def wait(self, search: str, key_id: str, lookup: str) -> None:
        self._waiting.setdefault(lookup, {})[search] = key_id

    def settled(self, search: str, lookup: str) -> None:
        waiting = self._waiting.get(lookup, {})
        waiting.pop(search, None)
        if not waiting:
            self._waiting.pop(lookup, None)

    def waiting(self, lookup: str) -> Mapping[str, str]:
        """Return the searches that wait for *lookup* now, and the key of each."""
        return dict(self._waiting.get(lookup, {}))

    def waited_for(self) -> Sequence[str]:
        """Return the lookups that searches wait for."""
        return list(self._waiting)

    # Timers.

    def set_timer(self, when: datetime, lookup: str) -> None:
        heapq.heappush(self._timers, (when, lookup))
        self._timer_set.set()

    def next_due(self) -> datetime | None:
        """Return when the first timer is due."""
        return self._timers[0][0] if self._timers else None

    def is_due(self) -> bool:
        return bool(self._timers) and self._timers[0][0] <= self._clock.now()

    async def take_due(self) -> Mapping[str, Sequence[datetime]]:
        """Wait until a timer is due; return and forget all that are, by lookup, in order."""
        while not self.is_due():
            self._timer_set.clear()
            waiting: list[asyncio.Future[Any]] = [
                asyncio.ensure_future(self._timer_set.wait()),
                *(
                    asyncio.ensure_future(self._clock.sleep_until(when))
                    for when, _ in self._timers[:1]
                ),
            ]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for each in waiting:
                    each.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
        due: dict[str, list[datetime]] = {}
        while self.is_due():
            when, lookup = heapq.heappop(self._timers)
            due.setdefault(lookup, []).append(when)
        return due

    # Work in flight.

    def in_flight(self) -> frozenset[AttemptId]:
        return frozenset(each.id for each in self._attempts())

    def issue(
        self, lookup: str, stage: StageName, item: str, attempt: int, ago_s: float = 0.0
    ) -> None:
        """Note that work was issued, *ago_s* seconds ago; it replaces an older attempt."""
        alive_at = self._monotonic() - max(0.0, ago_s)
        work = self._in_flight.setdefault(lookup, {})
        work[stage, item] = Attempt(lookup, stage, item, attempt, alive_at)

    def silent(self, for_s: float) -> Sequence[Attempt]:
        """Return what seems silent for *for_s* seconds, each once in that time."""
        now = self._monotonic()
        found = [each for each in self._attempts() if now - each.alive_at > for_s]
        for each in found:
            each.alive_at = now
        return found

    def seen_alive(self, attempt: Attempt, ago_s: float) -> None:
        """Note that a heartbeat of *attempt* came *ago_s* seconds ago."""
        attempt.alive_at = self._monotonic() - ago_s

    def _close(self, lookup: str, stage: StageName, item: str) -> None:
        work = self._in_flight.get(lookup, {})
        work.pop((stage, item), None)
        if not work:
            self._in_flight.pop(lookup, None)

    def _attempts(self) -> Iterable[Attempt]:
        return (each for work in self._in_flight.values() for each in work.values())
