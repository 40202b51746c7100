"""A record that cannot be handled is put aside; a log that is away is waited for."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from structlog.testing import capture_logs

from cs.bus.memory import MemoryBus
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, encode
from cs.domain.brand.events import LookupFinished
from cs.domain.stages.work import Outcome, Resolved
from cs.eventlog.port import NO_STREAM, Append, Ceiling
from cs.eventlog.streams import Streams
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import AT_ONCE, GROUP, OutcomeRecorder
from domain.acme_run import AT, STREAM, AcmeRun
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.receipted import RECEIPTS, receipted

LOOKUP = f"{STREAM}.1"


class OddLog(MemoryEventLog):
    """Fails on some appends as a bug or damage would, or as a disk that is full."""

    def __init__(self, *faults: Exception) -> None:
        super().__init__(MemoryKeyStore())
        self.faults = list(faults)

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        if self.faults and appends[0].expected != NO_STREAM:
            raise self.faults.pop(0)
        return await super().append(appends, ceiling)


@asynccontextmanager
async def recording(log: MemoryEventLog, at_once: int = AT_ONCE) -> AsyncIterator[MemoryBus]:
    bus, clock = MemoryBus([(OUTCOMES, GROUP), (DEAD_LETTERS, "test")]), ManualClock(AT)
    recorder = OutcomeRecorder(
        Streams(log),
        bus,
        clock,
        MemoryHeartbeats(clock.monotonic),
        receipts=RECEIPTS,
        verifiers=(),
        drain_s=0,
        at_once=at_once,
    )
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(recorder.run())
        await log.append([Append(STREAM, NO_STREAM, AcmeRun().events)])
        yield bus
        assert not running.done()
        running.cancel()


async def say(bus: MemoryBus, *outcomes: Outcome) -> None:
    for each in outcomes:
        await bus.publish(OUTCOMES, key=b"", value=encode(each))


NO_MATCH = receipted(
    Outcome(
        lookup=LOOKUP,
        stage="brand-resolution",
        attempt=1,
        finding=Resolved(status="no_match"),
    )
)


async def finished(log: MemoryEventLog) -> None:
    while not isinstance((await log.read(STREAM))[-1].event, LookupFinished):
        await log.grown(await log.head())


async def test_what_cannot_be_handled_is_a_dead_letter_and_the_next_is_handled() -> None:
    log = OddLog(RuntimeError("jane@acme.example"))
    with capture_logs() as lines:
        async with recording(log) as bus, bus.subscribe(DEAD_LETTERS, group="test") as letters:
            await say(bus, NO_MATCH)
            letter = await anext(aiter(letters))
            await say(bus, NO_MATCH)
            await finished(log)

    assert (letter.value, letter.headers["error"]) == (encode(NO_MATCH), "RuntimeError")
    (line,) = [line for line in lines if line["event"] == "record_not_handled"]
    assert (line["topic"], line["error"]) == (OUTCOMES, "RuntimeError")
    assert "jane" not in str(lines)
