"""A record that cannot be handled is put aside; a log that is away is waited for."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from cs.bus.memory import MemoryBus
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, encode
from cs.clock import HandClock
from cs.domain.brand_events import LookupFinished
from cs.domain.stage_work import Alive, Outcome, Resolved
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import NO_STREAM, Append, Ceiling, LogUnavailable
from cs.eventlog.streams import Streams
from cs.keystore.memory import MemoryKeyStore
from cs.pipeline.outcomes import GROUP, OutcomeRecorder
from cs.pipeline.signs import MemorySigns
from domain.acme_run import AT, STREAM, AcmeRun
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
async def recording(log: MemoryEventLog) -> AsyncIterator[MemoryBus]:
    bus, clock = MemoryBus([(OUTCOMES, GROUP), (DEAD_LETTERS, "test")]), HandClock(AT)
    recorder = OutcomeRecorder(
        Streams(log),
        bus,
        clock,
        MemorySigns(clock.monotonic),
        receipts=RECEIPTS,
        verifiers=(),
        drain_s=0,
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


async def test_a_log_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.eventlog.follow.RETRY_S", 0.001)
    log = OddLog(LogUnavailable("the disk is full"))
    with capture_logs() as lines:
        async with recording(log) as bus:
            await say(bus, NO_MATCH)
            await finished(log)

    assert [line["event"] for line in lines if line["log_level"] != "info"] == ["log_away"]


async def test_an_outcome_beyond_the_limits_is_told_by_its_field() -> None:
    log = MemoryEventLog(MemoryKeyStore())
    bad = Outcome(lookup=LOOKUP, stage="ranking", attempt=3_000_000_000, finding=Alive())
    with capture_logs() as lines:
        async with recording(log) as bus, bus.subscribe(DEAD_LETTERS, group="test") as letters:
            await say(bus, bad)
            letter = await anext(aiter(letters))
            await say(bus, NO_MATCH)
            await finished(log)

    assert letter.value == encode(bad)
    (line,) = [line for line in lines if line["event"] == "record_unreadable"]
    assert line["where"] == "attempt"
