"""The state of a service, read from what it has stored: the log and the views.

Beside a running service or without one; no event is stored, and the views are left where
they are.  On databases they are those of this version, as everybody reads them: where no
`cs project` of it has run they are empty, and as far behind as the log is long.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from cs.assembly.log_world import world_of
from cs.assembly.operator_command import CommandContext
from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    LookupFinished,
    MailboxNotVerified,
    MailboxVerified,
)
from cs.domain.mail.mailbox import Evidence
from cs.domain.service import World
from cs.eventlog.damage import read_past
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import RecordedEvent
from cs.projections.brands import BRANDS
from cs.projections.searches import SEARCHES

#: Of the newest events these many are read for how sources, verifiers and lookups ended.
RECENT = 5_000
_PAGE = 500
#: Running lookups whose open work is looked at, and failures that are shown.
LOOKUPS, FAILURES = 100, 5


class RecentRuns(msgspec.Struct):
    """How the runs of one source or verifier ended lately: how often each way, and when.

    ``why`` is the cause of the last end; ``""``: it answered, or none was given.
    """

    ended: dict[str, int] = {}
    last: str = ""
    last_at: datetime | None = None
    why: str = ""

    def add(self, how: str, at: datetime, why: str = "") -> None:
        self.ended = {**self.ended, how: self.ended.get(how, 0) + 1}
        self.last, self.last_at, self.why = how, at, why


class FailedLookup(msgspec.Struct, frozen=True):
    """A lookup that did not end well; *why* is what its last failed attempt said."""

    at: datetime
    lookup: str
    outcome: str
    why: str


class ServiceState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a service.

    Attributes:
        world: ``None`` before the first service has run, and where that cannot be read.
        paused: ``None``: the stream `service`, which says so, is damaged.
        searches: That wait for a running lookup.
        work: Stages' work that was issued and not answered, by stage; of the first
            `LOOKUPS` lookups.
        damaged: Lookups among those that cannot be read, and are set aside.
        oldest_work_s: How long the oldest of it has been issued.
        events: Position of the log's end; ``views_behind`` is counted from there.
        recent: How many of the newest events the rest is from.
    """

    world: str | None
    paused: bool | None
    lookups: int
    searches: int
    work: dict[str, int]
    damaged: int
    oldest_work_s: float | None
    events: int
    views_behind: int
    recent: int
    sources: dict[str, RecentRuns]
    verifiers: dict[str, RecentRuns]
    failures: Sequence[FailedLookup]


async def read_state(data: CommandContext) -> ServiceState:
    """Return the state of the service on *data*."""
    views_at = await data.views.position()
    head = await data.log.head()
    service = await _service(data)
    live = await data.views.tagged(BRANDS, "live")
    waiting = await data.views.tagged(SEARCHES, "running")
    work: Counter[str] = Counter()
    issued: list[datetime] = []
    damaged = 0
    for stream, _ in live[:LOOKUPS]:
        try:
            lookup = (await data.streams.brand(stream)).state.live
        except DamagedEvent:
            damaged += 1
            continue
        for each in lookup.open if lookup is not None else ():
            work[each.stage] += 1
            issued += [each.issued_at] if each.issued_at is not None else []
    recent = _RecentEvents()
    position = max(0, head - RECENT)
    read = head - position
    while position < head and (page := await read_past(data.log, position, _PAGE)):
        recent.on_events(page)
        position = page[-1].position
    oldest = (data.clock.now() - min(issued)).total_seconds() if issued else None
    return ServiceState(
        world=service.world,
        paused=service.paused,
        lookups=len(live),
        searches=len(waiting),
        work=dict(work),
        damaged=damaged,
        oldest_work_s=None if oldest is None else round(max(0.0, oldest), 1),
        events=head,
        views_behind=max(0, head - views_at),
        recent=read,
        sources=recent.sources,
        verifiers=recent.verifiers,
        failures=recent.failures[-FAILURES:][::-1],
    )


class _Service(NamedTuple):
    world: World | None
    paused: bool | None


async def _service(data: CommandContext) -> _Service:
    """Return what the stream `service` says, as far as it can be read."""
    try:
        state = (await data.streams.service()).state
    except DamagedEvent:
        pass
    else:
        return _Service(state.world, state.paused)
    try:
        return _Service(await world_of(data.log), None)
    except DamagedEvent:
        return _Service(None, None)


class _RecentEvents:
    """What the newest events say of sources, verifiers and failed lookups."""

    def __init__(self) -> None:
        self.sources: dict[str, RecentRuns] = {}
        self.verifiers: dict[str, RecentRuns] = {}
        self.failures: list[FailedLookup] = []
        self._why: dict[str, str] = {}

    def on_events(self, page: Iterable[RecordedEvent]) -> None:
        for recorded in page:
            match recorded.event:
                case (
                    BrandResolved(sources=sources, causes=causes, at=at)
                    | ContactsDiscovered(sources=sources, causes=causes, at=at)
                ):
                    for name, how in sources.items():
                        ends = self.sources.setdefault(name, RecentRuns())
                        ends.add(how, at, causes.get(name, ""))
                case MailboxVerified(checked=checked) | MailboxNotVerified(checked=checked):
                    for evidence in checked.evidence:
                        how = _answer(evidence)
                        self.verifiers.setdefault(evidence.verifier, RecentRuns()).add(
                            how, evidence.at
                        )
                case AttemptFailed(lookup=lookup, stage=stage, why=why, causes=causes):
                    described = [f"{name}: {cause}" for name, cause in causes.items()]
                    self._why[lookup] = "; ".join([f"{stage}: {why}", *described])
                case LookupFinished(lookup=lookup, outcome=outcome, at=at):
                    why = self._why.pop(lookup, "")
                    if outcome != "done":
                        self.failures.append(FailedLookup(at, lookup, outcome, why))
                case _:
                    pass


def _answer(evidence: Evidence) -> str:
    return "answered" if evidence.answered else f"no answer ({evidence.reason})"
