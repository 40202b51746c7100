"""The state of a service, read from its log and views without storing anything.

On databases the views are those of this version: where no `cs project` of it has run they are
empty, and as far behind as the log is long.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    LookupFinished,
    MailboxNotVerified,
    MailboxVerified,
)
from cs.domain.service import WorldChosen
from cs.eventlog.damage import read_past
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import NO_STREAM, EventLog, RecordedEvent
from cs.eventlog.streams import Streams
from cs.projections.brands import BRANDS
from cs.projections.port import Views
from cs.projections.searches import SEARCHES
from cs.runtime.clock import Clock

#: Newest events that are read for how sources, verifiers and lookups ended.
RECENT = 5_000
_PAGE = 500
#: Running lookups whose open work is counted, and failures that are returned.
LOOKUPS, FAILURES = 100, 5


class RecentRuns(msgspec.Struct):
    """How the recent runs of one source or verifier ended: counts, and the last one.

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
    """A lookup that did not end well; *why* is the cause of its last failed attempt."""

    at: datetime
    lookup: str
    outcome: str
    why: str


class ServiceState(msgspec.Struct, kw_only=True):
    """The state of a service.

    Attributes:
        world: ``None`` before the first service has run, or if its event is damaged.
        paused: ``None`` if the stream `service` is damaged.
        searches: Searches that wait for a running lookup.
        work: Work that was issued to a stage and not answered, by stage, of the first
            `LOOKUPS` running lookups; ``oldest_work_s`` is the age of the oldest.
        damaged: Lookups among those that cannot be read.
        events: Position of the log's end, from which ``views_behind`` is counted.
        recent: Number of newest events that sources, verifiers and failures are from.
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
    recent: int = 0
    sources: dict[str, RecentRuns] = {}
    verifiers: dict[str, RecentRuns] = {}
    failures: Sequence[FailedLookup] = ()


async def read_state(
    log: EventLog, views: Views, streams: Streams, clock: Clock
) -> ServiceState:
    """Return the state of the service whose log and views these are."""
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
    position = max(0, head - RECENT)
    state.recent = head - position
    failures: list[FailedLookup] = []
    causes: dict[str, str] = {}
    while position < head and (page := await read_past(log, position, _PAGE)):
        _count(state, failures, causes, page)
        position = page[-1].position
    state.failures = failures[-FAILURES:][::-1]
    return state


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


def _count(
    state: ServiceState,
    failures: list[FailedLookup],
    why_of: dict[str, str],
    page: Iterable[RecordedEvent],
) -> None:
    for recorded in page:
        match recorded.event:
            case (
                BrandResolved(sources=sources, causes=causes, at=at)
                | ContactsDiscovered(sources=sources, causes=causes, at=at)
            ):
                for name, how in sources.items():
                    runs = state.sources.setdefault(name, RecentRuns())
                    runs.add(how, at, causes.get(name, ""))
            case MailboxVerified(checked=checked) | MailboxNotVerified(checked=checked):
                for each in checked.evidence:
                    how = "answered" if each.answered else f"no answer ({each.reason})"
                    state.verifiers.setdefault(each.verifier, RecentRuns()).add(how, each.at)
            case AttemptFailed(lookup=lookup, stage=stage, why=why, causes=causes):
                of_sources = [f"{name}: {cause}" for name, cause in causes.items()]
                why_of[lookup] = "; ".join([f"{stage}: {why}", *of_sources])
            case LookupFinished(lookup=lookup, outcome=outcome, at=at):
                why = why_of.pop(lookup, "")
                if outcome != "done":
                    failures.append(FailedLookup(at, lookup, outcome, why))
            case _:
                pass
