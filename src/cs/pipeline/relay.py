"""Copies issued work from the event log to the stage topics, in order.

Append first, publish after: no process writes to both.  What the log holds is published as
stored; a record that was published and lost is issued again by the driver.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence

from structlog import get_logger

from cs.bus.headers import ASKED_BY, TRACEPARENT, root_place, work_headers
from cs.bus.port import Bus, BusUnavailable
from cs.bus.topics import STAGE_TOPICS, encode, work_key
from cs.domain.brand.events import StageIssued
from cs.domain.causation import RequestCause
from cs.domain.source_cost import SourceFigures
from cs.domain.source_order import PRIORS
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName, Work
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.follow import VersionGate, follow
from cs.eventlog.port import EventLog, EventNeeds, LogUnavailable, RecordedEvent
from cs.metrics.metrics import Metrics
from cs.pipeline.lanes import Lanes
from cs.pipeline.receipts import Receipts
from cs.runtime import failpoints
from cs.runtime.clock import Clock
from cs.runtime.lru import LruDict

log = get_logger()

#: Wait before a record that the bus did not take is published again.
RETRY_S = 0.5
#: Records read and not published yet; with more of them the log is read no further.  What
#: one dead partition of twelve gathers until the deadlines of some 40 lookups a second.
WAITING = 5_000
#: How old figures may be: an order is not worth a read for each piece of work.
FRESH_S = 60.0
#: Rows of figures in one message, those that cost most first.
FIGURES = 64
_ISSUED = EventNeeds(frozenset({StageIssued}))


class LearnedFigures:
    """The figures of sources and verifiers that go with each piece of work.

    The relay has the views, a stage has not: so a stage needs no log to know what a verified
    e-mail has cost from each of them (docs/sources.md).  What *read* returned is
    remembered for a minute; where it cannot be read, the last of it is used.
    """

    def __init__(
        self, read: Callable[[], Awaitable[Sequence[SourceFigures]]], clock: Clock
    ) -> None:
        self._read = read
        self._clock = clock
        self._read_at: float | None = None
        self._paid: Sequence[SourceFigures] = ()

    async def of(self, stage: StageName) -> tuple[SourceFigures, ...]:
        """Return the figures of those that *stage* has paid; the free ones need no figures.

        None of a stage that has no choice.
        """
        if stage not in PRIORS:
            return ()
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= FRESH_S:
            self._read_at = now
            try:
                self._paid = [each for each in await self._read() if each.micros]
            except LogUnavailable as error:
                # The order is good advice, and no work waits for advice.
                log.info("figures_not_read", why=str(error))
        ours = (each for each in self._paid if each.stage == stage)
        return tuple(sorted(ours, key=lambda each: -each.micros)[:FIGURES])


async def relay(
    events: EventLog,
    bus: Bus,
    *,
    after: int,
    receipts: Receipts,
    figures: LearnedFigures | None = None,
    deadline_clock: Clock | None = None,
    save_position: Callable[[int], Awaitable[None]] | None = None,
    set_aside: DamagedStreams | None = None,
    metrics: Metrics | None = None,
    in_turns: bool = False,
) -> None:
    """Publish every `StageIssued` after position *after*, for ever, with receipts.

    With *figures* it has those of what its stage pays, too.

    Work that the bus does not take is offered again until its deadline has passed by
    *deadline_clock*; without that clock it is offered once, since a bus in this process has
    room or it has not.  Work of one key on a topic goes out in order, and what the bus does
    not take of it holds up no other.  *save_position* is called with positions up to which
    all has been relayed.

    With *in_turns* a header names the API key whose search started the lookup, by which the bus
    of one process gives out work in turns.  After a restart each lookup has a turn of its own.

    Work that cannot be read is passed over and noted in *set_aside*; once it is mended the
    driver issues what is open of its lookup again.

    At an event of a newer version it stands still, also if that may be no work: to say so
    would be a guess.  With *save_position* there may be other processes, and it gives up
    instead.

    Raises:
        NewerEvent: It gives up; one of that version is to go on.
        Exception: What *save_position* raises.
    """
    metrics = metrics or Metrics()
    gate = VersionGate("relay") if save_position is None else None
    pages = follow(events, after, gate=gate, set_aside=set_aside, wanted=_ISSUED)
    asked_by = LruDict[str, str](WAITING)  # by lookup

    async def publish(event: StageIssued) -> None:
        failpoints.reach("relay.before-publish")
        learned = () if figures is None else await figures.of(event.stage)
        work = receipts.work(event, learned)
        headers = work_headers(work)
        if in_turns:
            headers[ASKED_BY] = asked_by.use(work.lookup) or work.lookup
        with metrics.traces.span(
            f"publish {work.stage}",
            "producer",
            within=root_place(work.lookup),
            place=headers[TRACEPARENT],
            lookup=work.lookup,
            attempt=work.attempt,
        ):
            await _offer(work, headers, bus, deadline_clock)
        failpoints.reach("relay.after-publish")

    lanes = Lanes(publish, after=after, capacity=WAITING)
    with metrics.follower_position.measured(lambda: lanes.position, "relay"):
        issued = ((_issued(page, asked_by), page[-1].position) async for page in pages)
        await lanes.run(issued, save_position)


def _issued(
    page: Sequence[RecordedEvent], asked_by: MutableMapping[str, str]
) -> Iterator[tuple[str, int, StageIssued]]:
    """Yield the work of *page*, each with what it keeps its order with: its topic and key.

    Notes in *asked_by* the API key of each lookup that begins.
    """
    for each in page:
        event = each.event
        # No worker runs a stage whose package is gone.
        if isinstance(event, StageIssued) and event.stage in STAGES:
            if isinstance(each.caused_by, RequestCause):
                asked_by[event.lookup] = each.caused_by.key
            yield f"{event.stage} {event.item or event.lookup}", each.position, event


async def _offer(
    work: Work,
    headers: Mapping[str, str],
    bus: Bus,
    deadline_clock: Clock | None,
) -> None:
    topic = STAGE_TOPICS[work.stage]
    while True:
        try:
            await bus.publish(topic, key=work_key(work), value=encode(work), headers=headers)
        except BusUnavailable as error:
            # Silence would issue it again too, but only so often.
            log.warning(
                "work_not_published", lookup=work.lookup, stage=work.stage, why=str(error)
            )
            if deadline_clock is None or deadline_clock.now() >= work.deadline_at:
                return
            await asyncio.sleep(RETRY_S)
        else:
            return
