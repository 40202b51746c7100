"""The state of a service, read from its log and views without storing anything.

On databases the views are those of this version: where no `cs project` of it has run they are
empty, and as far behind as the log is long.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec.structs import asdict, replace

from cs.domain.service import WorldChosen
from cs.eventlog.port import NO_STREAM, DamagedEvent, EventLog, RecordedEvent
from cs.eventlog.streams import Streams
from cs.history.brands import words_of
from cs.history.history import History, opened, pass_over
from cs.history.runs import Run, runs
from cs.history.selection import Selection
from cs.history.words import failed_last, why_ended
from cs.keystore.port import KeyStore
from cs.projections.brands import BRANDS
from cs.projections.searches import SEARCHES
from cs.projections.views import Views
from cs.runtime.clock import Clock

#: Newest events of which the runs are read, for how sources, verifiers and lookups ended.
RECENT = 5_000
#: Events of those that are opened and folded in one go: the event loop is blocked meanwhile.
AT_ONCE = 100
#: Running lookups whose open work is counted, and failures that are returned.
LOOKUPS, FAILURES = 100, 5


class RecentRuns(msgspec.Struct):
    """How the recent calls of one source or verifier ended: counts, and the last one.

    ``why`` is the cause of the last end; empty if it answered, or gave none.
    """

    ended: dict[str, int] = {}
    last: str = ""
    last_at: datetime | None = None
    why: str = ""

    def add(self, how: str, at: datetime, why: str = "") -> None:
        self.ended[how] = self.ended.get(how, 0) + 1
        self.last, self.last_at, self.why = how, at, why


class FailedLookup(msgspec.Struct, frozen=True):
    """A lookup that did not end well.

    Attributes:
        why: The cause of its last failed attempt, else why it ended so (`why_ended`).
    """

    at: datetime
    lookup: str
    brand: str
    outcome: str
    why: str


class RecentEnds(msgspec.Struct, kw_only=True):
    """How the runs ended that began among the newest events.

    Attributes:
        recent: Number of those events.
    """

    recent: int = 0
    sources: dict[str, RecentRuns] = {}
    verifiers: dict[str, RecentRuns] = {}
    failures: Sequence[FailedLookup] = ()


class ServiceState(RecentEnds, kw_only=True):
    """The state of a service.

    Attributes:
        world: ``None`` before the first service has run, or if its event is damaged.
        paused: ``None`` if the stream `service` is damaged.
        searches: Searches that wait for a running lookup.
        work: Work that was issued to a stage and not answered, by stage, of the first
            `LOOKUPS` running lookups; ``oldest_work_s`` is the age of the oldest.
        damaged: Lookups among those that cannot be read.
        events: Position of the log's end, from which ``views_behind`` is counted.
    """

    world: str | None = None
    paused: bool | None = None
    lookups: int
    searches: int
    work: dict[str, int] = {}
    damaged: int = 0
    oldest_work_s: float | None = None
    events: int
    views_behind: int

    def with_ends(self, ends: RecentEnds) -> "ServiceState":
        """Return this state with how recent runs ended."""
        return replace(self, **asdict(ends))


async def read_state(
    log: EventLog, keys: KeyStore, views: Views, streams: Streams, clock: Clock
) -> ServiceState:
    """Return the state of the service with these stores."""
    state = await read_now(log, views, streams, clock)
    return state.with_ends(await read_ends(log, keys))


async def read_now(log: EventLog, views: Views, streams: Streams, clock: Clock) -> ServiceState:
    """Return the state without how recent runs ended."""
    views_at = await views.position()
    head = await log.head()
    live = await views.tagged(BRANDS, "live")
    state = ServiceState(
        lookups=len(live),
        searches=len(await views.tagged(SEARCHES, "running")),
        events=head,
        views_behind=max(0, head - views_at),
    )
    await _read_service(state, log, streams)
    work: Counter[str] = Counter()
    issued: list[datetime] = []
    for stream, _ in live[:LOOKUPS]:
        try:
            lookup = (await streams.brand(stream)).state.live
        except DamagedEvent:
            state.damaged += 1
            continue
        for each in lookup.open if lookup is not None else ():
            work[each.stage] += 1
            issued += [each.issued_at] if each.issued_at is not None else []
    state.work = dict(work)
    if issued:
        state.oldest_work_s = round(max(0.0, (clock.now() - min(issued)).total_seconds()), 1)
    return state


async def read_ends(log: EventLog, keys: KeyStore) -> RecentEnds:
    """Return how the runs ended that began among the newest `RECENT` events."""
    head = await log.head()
    ends = RecentEnds(recent=min(head, RECENT))
    newest = Selection(categories=("brand",), after=head - ends.recent, upto=head)
    events = list[RecordedEvent]()
    async for page in History(log).pages(newest, unreadable=pass_over):
        for first in range(0, len(page), AT_ONCE):
            events += await opened(keys, page[first : first + AT_ONCE], pass_over)
            await asyncio.sleep(0)  # others run in between
    found = runs(events)
    for run in sorted(found, key=lambda run: run.last_position):
        _count(ends, run)
    failed = [run for run in found if run.finished_at and run.outcome != "done"]
    failed.sort(key=lambda run: run.finish_position or 0, reverse=True)
    ends.failures = [_failure(run) for run in failed[:FAILURES]]
    return ends


async def _read_service(state: ServiceState, log: EventLog, streams: Streams) -> None:
    """Set world and pause as far as the stream `service` can be read."""
    try:
        service = (await streams.service()).state
        state.world, state.paused = service.world, service.paused
    except DamagedEvent:
        try:
            first = await log.read("service", NO_STREAM, 1)
        except DamagedEvent:
            return
        worlds = (each.event.world for each in first if isinstance(each.event, WorldChosen))
        state.world = next(worlds, None)


def _count(ends: RecentEnds, run: Run) -> None:
    for attempt in run.attempts:
        for name, how in attempt.sources.items():
            calls = ends.sources.setdefault(name, RecentRuns())
            calls.add(how, attempt.ended_at or attempt.issued_at, attempt.causes.get(name, ""))
    for evidence in (e for p in run.people for c in p.checks for e in c.checked.evidence):
        how = "answered" if evidence.answered else f"no answer ({evidence.reason})"
        ends.verifiers.setdefault(evidence.verifier, RecentRuns()).add(how, evidence.at)


def _failure(run: Run) -> FailedLookup:
    assert run.finished_at is not None
    why = failed_last(run) or why_ended(run)
    brand = words_of(run.query)
    return FailedLookup(run.finished_at, run.lookup, brand, run.outcome or "", why)
