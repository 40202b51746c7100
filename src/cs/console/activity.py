"""What the service did lately, by the minute and by the hour, in memory.

Counts are folded from the log: of the last week after a start, then of each new event.  They
hold no person.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from cs.domain.brand.events import EVENT_TOPICS, AttemptFailed, LookupFinished, StageIssued
from cs.domain.key import SearchSettled
from cs.domain.messages import Event
from cs.domain.stages.table import ClosedWork, closed_work
from cs.eventlog.damage import DamagedStreams, read_past
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import EventLog, EventNeeds, RecordedEvent
from cs.history.history import History
from cs.runtime.clock import Clock
from cs.runtime.lru import LruDict

#: Work whose end is waited for.
REMEMBERED = 10_000
#: Durations are counted by classes, each so much longer than the one before.
WIDTH = 1.1
#: Events that are read at once after a start, and the pause after them: callers go first.
PAGE, PAUSE_S = 500, 0.01

_READ = EventNeeds(
    frozenset[type[Event]]({SearchSettled, *EVENT_TOPICS.values()}), opened=frozenset()
)


class Span(msgspec.Struct, frozen=True):
    """A time that is looked at, in equal parts."""

    name: str
    part: timedelta
    parts: int


SPANS = (
    Span("hour", timedelta(minutes=1), 60),
    Span("day", timedelta(hours=1), 24),
    Span("week", timedelta(hours=1), 168),
)


class Bucket(msgspec.Struct):
    """What happened in one minute or hour, or in several of them."""

    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    reused: int = 0
    charged: int = 0
    micros: int = 0
    took: dict[str, Counter[int]] = {}  # by stage, by class; a whole lookup is "lookup"

    def note(self, stage: str, seconds: float) -> None:
        number = round(math.log(max(seconds, 0.001), WIDTH))
        self.took.setdefault(stage, Counter())[number] += 1

    def add(self, other: "Bucket") -> None:
        """Count what happened in *other*, too."""
        self.outcomes.update(other.outcomes)
        self.reused += other.reused
        self.charged += other.charged
        self.micros += other.micros
        for stage, counts in other.took.items():
            self.took.setdefault(stage, Counter()).update(counts)

    def quantile(self, stage: str, share: float) -> float | None:
        """Return the *share* quantile of how long *stage* took, in seconds, to a tenth.

        ``None``: nothing of it ended.
        """
        counts = self.took.get(stage, Counter[int]())
        left = counts.total() * share
        for number in sorted(counts):
            left -= counts[number]
            if left <= 0:
                return float(WIDTH**number)
        return None


class Activity:
    """Counts of the last week.

    Args:
        log: The event log.
        set_aside: Damaged streams, which are passed over.
        clock: Of the service.
        head: The end of the log when this was made: up to there `fill` reads it, and
            `on_events` takes what comes after.
    """

    READS = _READ.types

    def __init__(
        self, log: EventLog, set_aside: DamagedStreams, clock: Clock, head: int
    ) -> None:
        self._log = log
        self._set_aside = set_aside
        self._clock = clock
        self._issued = LruDict[ClosedWork, datetime](REMEMBERED)
        self._buckets: dict[timedelta, dict[int, Bucket]] = {
            part: {} for part in {span.part for span in SPANS}
        }
        self._head = self._last = head

    async def fill(self) -> None:
        """Read the last week up to where `on_events` goes on, callers first."""
        since = self._clock.now() - max(span.part * span.parts for span in SPANS)
        after = await retry_while_unavailable(lambda: History(self._log).position_at(since))
        while after < self._head:
            limit = min(PAGE, self._head - after)
            read = partial(read_past, self._log, after, limit, self._set_aside, _READ)
            page = await retry_while_unavailable(read)
            if not page:
                return
            for each in page:
                self._add(each)
            after = page[-1].position
            await asyncio.sleep(PAUSE_S)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        """Fold what of *page* is new; events of a mended stream come a second time."""
        new = [each for each in page if each.position > self._last]
        self._last = max([self._last, *(each.position for each in new)])
        for each in new:
            self._add(each)

    def of(self, span: Span) -> Sequence[tuple[datetime, Bucket]]:
        """Return each part of *span* up to now, the oldest first, and what happened in it."""
        last = _number(self._clock.now(), span.part)
        found = self._buckets[span.part]
        return [
            (datetime.fromtimestamp(n * span.part.total_seconds(), UTC), found.get(n, Bucket()))
            for n in range(last - span.parts + 1, last + 1)
        ]

    def _add(self, recorded: RecordedEvent) -> None:
        event = recorded.event
        match event:
            case SearchSettled():
                for bucket in self._at(event.at):
                    bucket.outcomes[event.outcome] += 1
                    bucket.reused += event.cached
                    bucket.charged += event.charged
            case StageIssued(lookup=lookup, stage=stage, item=item, at=at):
                # Of work that is issued again the first time counts.
                self._issued.setdefault(ClosedWork(lookup, stage, item), at)
                self._issued.setdefault(ClosedWork(lookup, "lookup", ""), at)
            case LookupFinished(lookup=lookup, at=at):
                self._ended(ClosedWork(lookup, "lookup", ""), at)
            case _:
                pass
        closed = closed_work(event)
        if closed is not None:
            self._ended(closed, event.at)
        if isinstance(event, AttemptFailed) or closed is not None:
            for bucket in self._at(event.at):
                bucket.micros += sum(cost.micros for cost in getattr(event, "costs", ()))

    def _ended(self, work: ClosedWork, at: datetime) -> None:
        issued_at = self._issued.pop(work, None)
        if issued_at is not None:
            for bucket in self._at(at):
                bucket.note(work.stage, (at - issued_at).total_seconds())

    def _at(self, at: datetime) -> Iterator[Bucket]:
        """Yield the minute and the hour of *at*, if they are of the last week."""
        now = self._clock.now()
        for part, buckets in self._buckets.items():
            number, last = _number(at, part), _number(now, part)
            oldest = last - max(span.parts for span in SPANS if span.part == part)
            if not oldest < number <= last + 1:
                continue
            if number not in buckets:
                for old in [each for each in buckets if each <= oldest]:
                    del buckets[old]
            yield buckets.setdefault(number, Bucket())


def _number(at: datetime, part: timedelta) -> int:
    return int(at.timestamp() // part.total_seconds())
