"""A record that cannot be handled is put aside; a log that is away is waited for."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from cs.bus.dead_letters import dead_letter
from cs.bus.memory import MemoryBus
from cs.bus.port import Record
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, encode
from cs.domain.brand.events import LookupFinished
from cs.domain.stages.work import Alive, Outcome, Resolved
from cs.eventlog.errors import LogUnavailable, NewerEvent
from cs.eventlog.port import NO_STREAM, Append, Ceiling, RecordedEvent
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


class CountingLog(OddLog):
    """Knows how many outcomes of lookups that it does not have were read for at once."""

    def __init__(self, *faults: Exception) -> None:
        super().__init__(*faults)
        self.reading = self.most = self.read_for = 0

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        if stream == STREAM:
            return await super().read(stream, after, limit)
        self.reading += 1
        self.most = max(self.most, self.reading)
        for _ in range(100):  # time for another to come
            await asyncio.sleep(0)
        self.reading -= 1
        self.read_for += 1
        return await super().read(stream, after, limit)


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


async def test_a_dead_letter_names_the_error_within_a_group_of_tasks() -> None:
    bus = MemoryBus([(DEAD_LETTERS, "test")])
    record = Record(OUTCOMES, 0, 7, b"key", b"value")
    async with bus.subscribe(DEAD_LETTERS, group="test") as letters:
        await dead_letter(bus, record, ExceptionGroup("tasks", [ZeroDivisionError()]))
        letter = await anext(aiter(letters))

    assert letter.headers["error"] == "ZeroDivisionError"


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


async def test_who_stood_still_and_then_failed_leaves_no_place_too_many() -> None:
    """Else more outcomes are recorded at once with each of them, and nothing bounds that."""
    newer = NewerEvent(7, STREAM, "brand.of-tomorrow.v1")
    log = CountingLog(*(fault for _ in range(3) for fault in (newer, RuntimeError("a bug"))))
    others = [
        receipted(replace(NO_MATCH, lookup=f"brand-{number}.1", receipt=""))
        for number in range(8)
    ]
    with capture_logs():
        async with (
            recording(log, at_once=1) as bus,
            bus.subscribe(DEAD_LETTERS, group="test") as letters,
        ):
            await say(bus, NO_MATCH, NO_MATCH, NO_MATCH)
            async for letter in letters:
                await letters.commit(letter)
                if not log.faults:
                    break
            await say(bus, *others, NO_MATCH)
            await finished(log)

    assert (log.read_for, log.most) == (len(others), 1)
