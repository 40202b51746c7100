"""Who is stopped takes nothing new and finishes what is in flight, for a while."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from cs.bus.memory import MemoryBus
from cs.bus.port import Bus
from cs.bus.topics import (
    OUTCOMES,
    STAGE_TOPICS,
    decode_outcome,
    decode_work,
    encode,
    work_key,
)
from cs.domain.brand.brand import decide
from cs.domain.brand.events import BrandResolved, StartLookup
from cs.domain.causation import StartCause
from cs.domain.contact import Query
from cs.domain.stages.work import (
    AnyFinding,
    Outcome,
    ResolutionInput,
    Resolved,
    StageName,
    Work,
)
from cs.eventlog.port import Append, Ceiling
from cs.eventlog.streams import Streams
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import GROUP, OutcomeRecorder
from cs.pipeline.runner import Runner
from cs.plugins.stages import Report
from domain.acme_run import RESOLVED
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.receipted import RECEIPTS, receipted

AT = datetime(2026, 1, 1, tzinfo=UTC)
STAGE: StageName = "brand-resolution"
TOPIC = STAGE_TOPICS[STAGE]
#: So long that a test that waits for it fails.
LONG_S = 100.0


class RunsForEver(Protocol):
    async def run(self) -> None: ...


@dataclass
class Gate:
    """A stage that finishes its work when it is let."""

    name: StageName = STAGE
    given: list[str] = field(default_factory=list)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        del report
        self.given.append(work.lookup)
        await self.open.wait()
        return Resolved(status="no_match")


def bus_with_groups() -> MemoryBus:
    return MemoryBus([(TOPIC, STAGE), (OUTCOMES, "test"), (OUTCOMES, GROUP)])


async def give(bus: Bus, *lookups: str) -> None:
    for lookup in lookups:
        work = Work(
            lookup=lookup,
            stage=STAGE,
            attempt=1,
            deadline_at=AT + timedelta(minutes=1),
            input=ResolutionInput(Query("Acme")),
        )
        await bus.publish(TOPIC, key=work_key(work), value=encode(work))


async def left(bus: Bus, topic: str, group: str) -> list[str]:
    """Return the lookups of what *group* has not done, up to one that comes last."""
    last = "brand-last.1"
    if topic == TOPIC:
        await give(bus, last)
    else:
        await answer(bus, last)
    found: list[str] = []
    async with asyncio.timeout(30), bus.subscribe(topic, group=group) as records:
        async for record in records:
            decode = decode_work if topic == TOPIC else decode_outcome
            lookup = decode(record.value).lookup
            if lookup == last:
                break
            found.append(lookup)
    return found


async def answer(bus: Bus, lookup: str) -> None:
    outcome = receipted(Outcome(lookup=lookup, stage=STAGE, attempt=1, finding=RESOLVED))
    await bus.publish(OUTCOMES, key=lookup.encode(), value=encode(outcome))


@asynccontextmanager
async def started(what: RunsForEver) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(what.run())
    try:
        yield task
    finally:
        task.cancel()
        task.cancel()
        await asyncio.wait([task], timeout=10)
        assert task.done()


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])


async def until(gate: Gate, count: int) -> None:
    async with asyncio.timeout(10):
        while len(gate.given) < count:
            await turns(1)


async def ended(task: asyncio.Task[None]) -> None:
    """Return once *task* was cancelled, in good time."""
    async with asyncio.timeout(10):
        await asyncio.wait([task])
    assert task.cancelled()


async def test_a_cancelled_runner_finishes_what_is_in_flight_and_takes_no_more() -> None:
    bus, gate = bus_with_groups(), Gate()
    async with started(Runner(gate, bus, ManualClock(AT), drain_s=LONG_S)) as running:
        await give(bus, "brand-a.1")
        await until(gate, 1)

        running.cancel()
        await turns()
        await give(bus, "brand-b.1")
        await turns()
        assert not running.done()
        assert gate.given == ["brand-a.1"]
        gate.open.set()
        await ended(running)

    assert await left(bus, TOPIC, STAGE) == ["brand-b.1"]
    assert await left(bus, OUTCOMES, "test") == ["brand-a.1"]


async def test_what_is_not_finished_in_time_comes_again() -> None:
    bus, gate = bus_with_groups(), Gate()
    async with started(Runner(gate, bus, ManualClock(AT), drain_s=0.01)) as running:
        await give(bus, "brand-a.1")
        await until(gate, 1)

        running.cancel()
        await ended(running)

    assert await left(bus, OUTCOMES, "test") == []
    assert await left(bus, TOPIC, STAGE) == ["brand-a.1"]


class SlowLog(MemoryEventLog):
    """Stores what stages found when it is let."""

    def __init__(self) -> None:
        super().__init__(MemoryKeyStore())
        self.asked = asyncio.Event()
        self.open = asyncio.Event()

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        if any(isinstance(e, BrandResolved) for append in appends for e in append.events):
            self.asked.set()
            await self.open.wait()
        return await super().append(appends, ceiling)


async def lookup_on(log: MemoryEventLog) -> str:
    command = StartLookup(
        stream="brand-0a1b", query=Query("Acme"), deadline=timedelta(minutes=2), at=AT
    )
    await Streams(log).change(
        "brand-0a1b", lambda state: decide(command, state), caused_by=StartCause()
    )
    return "brand-0a1b.1"


@pytest.mark.parametrize(("drain_s", "done"), [(LONG_S, True), (0.01, False)])
async def test_a_cancelled_recorder_finishes_what_it_has_in_flight_in_time(
    *, drain_s: float, done: bool
) -> None:
    bus, log, clock = bus_with_groups(), SlowLog(), ManualClock(AT)
    lookup = await lookup_on(log)
    heartbeats = MemoryHeartbeats(clock.monotonic)
    recorder = OutcomeRecorder(
        Streams(log), bus, clock, heartbeats, receipts=RECEIPTS, verifiers=(), drain_s=drain_s
    )
    async with started(recorder) as running:
        await answer(bus, lookup)
        await asyncio.wait_for(log.asked.wait(), 10)

        running.cancel()
        await turns()
        await answer(bus, "brand-new.1")
        if done:
            assert not running.done()
            log.open.set()
        await ended(running)

    events = [type(recorded.event) for recorded in await log.tail(0)]
    assert (BrandResolved in events) is done
    assert await left(bus, OUTCOMES, GROUP) == (
        ["brand-new.1"] if done else [lookup, "brand-new.1"]
    )
