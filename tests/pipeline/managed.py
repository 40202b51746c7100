"""A process manager in memory, with a test in the place of the stages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeVar

from cs.bus.memory import MemoryBus
from cs.bus.port import Bus
from cs.bus.topics import OUTCOMES, encode
from cs.domain.brand.brand import decide
from cs.domain.brand.events import StageIssued, StartLookup
from cs.domain.causation import StartCause
from cs.domain.codec import AnyEvent
from cs.domain.key import KeyIssued, SearchAdmitted
from cs.domain.stages.work import AnyFinding, Outcome, Resolved, StageName
from cs.eventlog.follow import VersionGate, follow
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.streams import Streams
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import DRAIN_S, GROUP, OutcomeRecorder
from cs.projections.catalogue import projections
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from domain.acme_run import AT, QUERY, STREAM
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.receipted import RECEIPTS, VERIFIERS, receipted

E = TypeVar("E", bound=AnyEvent)
LOOKUP = f"{STREAM}.1"


async def process_manager(
    streams: Streams, bus: Bus, reading: Reading, clock: ManualClock, *, restart_work: bool
) -> None:
    """Record outcomes and drive lookups for ever, in one process."""
    heartbeats = MemoryHeartbeats(clock.monotonic)
    recorder = OutcomeRecorder(
        streams, bus, clock, heartbeats, receipts=RECEIPTS, verifiers=VERIFIERS
    )
    driver = Driver(streams, reading, clock, heartbeats, restart_work=restart_work)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.run())
        tasks.create_task(VersionGate("driver").until_read(driver.run))


class Managed:
    """What outlives a process: the log, the views and the time."""

    def __init__(self, log: MemoryEventLog | None = None) -> None:
        self.keys = MemoryKeyStore()
        self.log = log or MemoryEventLog(self.keys)
        self.streams = Streams(self.log)
        self.views = sqlite_views(None, projections())
        self.clock = ManualClock(AT)
        self.bus = MemoryBus()
        self.others = 0

    @asynccontextmanager
    async def running(self, *, restart_work: bool = True) -> AsyncIterator[None]:
        """Run a process manager, fresh as after a start, until left; its bus starts empty."""
        self.bus = MemoryBus([(OUTCOMES, GROUP)])
        runner = ViewRunner(self.log, self.views, self.keys)
        await runner.catch_up()
        streams, reading = (
            Streams(self.log),
            Reading(self.log, self.views, runner, self.keys),
        )
        running = asyncio.create_task(
            process_manager(streams, self.bus, reading, self.clock, restart_work=restart_work)
        )
        try:
            yield
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    def recorder(
        self, heartbeats: MemoryHeartbeats, *, drain_s: float = DRAIN_S
    ) -> OutcomeRecorder:
        """Return a recorder alone, as in a process of its own."""
        return OutcomeRecorder(
            Streams(self.log),
            self.bus,
            self.clock,
            heartbeats,
            receipts=RECEIPTS,
            verifiers=VERIFIERS,
            drain_s=drain_s,
        )

    # What the API and the stages do.

    async def key(self, key_id: str, quota: int = 5) -> None:
        issued = KeyIssued(label="test", quota=quota, secret_hash=key_id, last4="", at=AT)
        await self.log.append([Append(f"key-{key_id}", NO_STREAM, [issued])])

    async def search(self, search: str, key_id: str, lookup: str = LOOKUP) -> None:
        """Admit *search* to *lookup*, whether it runs or not."""

        def admit(_: object) -> list[AnyEvent]:
            at = self.clock.now()
            return [
                SearchAdmitted(search=search, brand="Acme", query=QUERY, lookup=lookup, at=at)
            ]

        await self.streams.change(f"key-{key_id}", admit, caused_by=StartCause())

    async def start(self, deadline_s: float = 120, *, stream: str = STREAM) -> None:
        """Start a lookup on a brand, Acme unless told."""
        command = StartLookup(
            stream=stream,
            query=QUERY,
            deadline=timedelta(seconds=deadline_s),
            at=self.clock.now(),
        )
        await self.streams.change(
            stream, lambda state: decide(command, state), caused_by=StartCause()
        )

    async def say(
        self,
        stage: StageName,
        finding: AnyFinding,
        *,
        item: str = "",
        attempt: int = 1,
        lookup: str = LOOKUP,
    ) -> None:
        outcome = Outcome(
            lookup=lookup, stage=stage, item=item, attempt=attempt, finding=finding
        )
        await self.bus.publish(OUTCOMES, key=lookup.encode(), value=encode(receipted(outcome)))

    async def caught_up(self) -> None:
        """Return once the process manager knows all that is in the log and was said.

        Another brand's run is ended and settled: by then it has read up to there.
        """
        self.others += 1
        stream, key_id = f"brand-other{self.others}", f"other{self.others}"
        await self.key(key_id)
        await self.start(stream=stream)
        await self.search(stream, key_id, f"{stream}.1")
        await self.say("brand-resolution", Resolved(status="no_match"), lookup=f"{stream}.1")
        async with asyncio.timeout(10):
            async for page in follow(self.log, 0):
                if any(
                    getattr(r.event, "outcome", "") and r.stream == f"key-{key_id}"
                    for r in page
                ):
                    return

    def passes(self, seconds: float) -> None:
        self.clock.set(self.clock.now() + timedelta(seconds=seconds))

    # What it came to.

    async def event(self, kind: type[E], count: int = 1) -> E:
        """Return the event of *kind* that comes as number *count*; wait for it."""
        left = count
        async with asyncio.timeout(10):
            async for page in follow(self.log, 0):
                for recorded in page:
                    if isinstance(recorded.event, kind):
                        left -= 1
                        if left == 0:
                            return recorded.event
        raise AssertionError

    async def events(self, kind: type[E]) -> list[E]:
        """Return the events of *kind* there are."""
        tail = await self.log.tail(0, 10_000)
        return [r.event for r in tail if isinstance(r.event, kind)]

    async def issued(self, stream: str = STREAM) -> list[int]:
        """Return the attempts issued in a brand's stream."""
        events = [r.event for r in await self.log.read(stream)]
        return [event.attempt for event in events if isinstance(event, StageIssued)]
