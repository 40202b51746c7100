"""Only who was given a piece of work can answer it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs
from structlog.typing import EventDict

from cs.bus.memory import MemoryBus
from cs.bus.port import Bus, Record
from cs.bus.topics import (
    DEAD_LETTERS,
    OUTCOMES,
    STAGE_TOPICS,
    decode_work,
    encode,
)
from cs.domain.brand.events import BrandEvent, LookupFinished, StageIssued
from cs.domain.contact import CheckedPerson
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import (
    AnyFinding,
    DomainVerified,
    Outcome,
    Resolved,
    StageName,
    Work,
)
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.streams import Streams
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import GROUP, OutcomeRecorder
from cs.pipeline.receipts import Receipts
from cs.pipeline.relay import relay
from cs.pipeline.runner import Runner
from cs.plugins.stages import Report
from domain.acme_run import AT, HOME, STREAM, AcmeRun, checked
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.receipted import RECEIPTS, VERIFIERS, receipted

LOOKUP = f"{STREAM}.1"
NO_MATCH = Resolved(status="no_match")
STAGE: StageName = "brand-resolution"
TOPIC = STAGE_TOPICS[STAGE]


class FindingStage:
    """A stage that finds what the test wants, once it may."""

    name: StageName = STAGE

    def __init__(self, finding: AnyFinding = NO_MATCH) -> None:
        self.finding = finding
        self.given = asyncio.Event()
        self.may = asyncio.Event()
        self.may.set()

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        del work, report
        self.given.set()
        await self.may.wait()
        return self.finding


@asynccontextmanager
async def in_memory() -> AsyncIterator[Bus]:
    yield MemoryBus(
        [(TOPIC, STAGE), (OUTCOMES, GROUP), (OUTCOMES, "test"), (DEAD_LETTERS, "test")]
    )


class RunningRecorder:
    """A recorder of outcomes with what it works on."""

    def __init__(self, bus: Bus, events: Sequence[BrandEvent]) -> None:
        self.bus = bus
        self.log = MemoryEventLog(MemoryKeyStore())
        self.events = events
        self.clock = ManualClock(AT)
        self.heartbeats = MemoryHeartbeats(self.clock.monotonic)
        self.recorder = OutcomeRecorder(
            Streams(self.log),
            self.bus,
            self.clock,
            self.heartbeats,
            receipts=RECEIPTS,
            verifiers=VERIFIERS,
            drain_s=0,
        )

    @asynccontextmanager
    async def running(self, *others: Any) -> AsyncIterator[None]:
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            roles = [tasks.create_task(each) for each in (self.recorder.run(), *others)]
            await self.log.append([Append(STREAM, NO_STREAM, self.events)])
            yield
            for role in roles:
                role.cancel()

    async def say(self, *outcomes: Outcome) -> None:
        for each in outcomes:
            await self.bus.publish(OUTCOMES, key=each.lookup.encode(), value=encode(each))

    async def letters(self, count: int) -> list[Record]:
        taken: list[Record] = []
        async with self.bus.subscribe(DEAD_LETTERS, group="test") as letters:
            async for record in letters:
                await letters.commit(record)
                taken.append(record)
                if len(taken) == count:
                    break
        return taken

    async def finish(self) -> LookupFinished:
        while True:
            for recorded in await self.log.read(STREAM):
                if isinstance(recorded.event, LookupFinished):
                    return recorded.event
            await self.log.grown(await self.log.head())


def answer(finding: AnyFinding = NO_MATCH, stage: StageName = STAGE, item: str = "") -> Outcome:
    return Outcome(lookup=LOOKUP, stage=stage, item=item, attempt=1, finding=finding)


def alarms(lines: Sequence[EventDict]) -> list[EventDict]:
    return [line for line in lines if line["event"] == "outcome_forged"]


VERIFIED = DomainVerified((checked("p1", Verdict.DELIVERABLE, local="ada.kern"),))
WRONG = Receipts(b"of somebody who made one up 32 b").of(LOOKUP, STAGE, "")
OF_ANOTHER = RECEIPTS.of("brand-0a1b.2", STAGE, "")


async def forged_is_refused_and_a_good_one_goes_on(bus: Bus) -> None:
    """Send forged outcomes, then let the relay and a stage do what they do."""
    forged = [answer(Resolved(status="ambiguous")), replace(answer(), receipt=WRONG)]
    stage, recording = FindingStage(), RunningRecorder(bus, AcmeRun().events)
    stage.may.clear()
    relaying = relay(recording.log, bus, after=0, receipts=RECEIPTS)
    with capture_logs() as lines:
        async with recording.running(relaying, Runner(stage, bus, recording.clock).run()):
            await stage.given.wait()
            await recording.say(*forged)
            letters = await recording.letters(2)
            before = [each.event for each in await recording.log.read(STREAM)]
            stage.may.set()
            finish = await recording.finish()

    assert sorted(letter.value for letter in letters) == sorted(map(encode, forged))
    assert {letter.headers["error"] for letter in letters} == {"ForgedOutcome"}
    assert before == AcmeRun().events
    assert finish.outcome == "no_linkedin"
    assert recording.recorder.forged == len(forged)
    (alarm,) = alarms(lines)
    assert (alarm["log_level"], alarm["refused"]) == ("error", 1)
    assert alarm["receipt"] in {"missing", "wrong"}


async def test_in_memory_a_forged_outcome_is_refused_and_a_good_one_goes_on() -> None:
    async with in_memory() as bus:
        await forged_is_refused_and_a_good_one_goes_on(bus)


async def test_no_e_mail_is_made_by_a_write_to_the_topic() -> None:
    said = answer(VERIFIED, "verification", HOME)
    async with in_memory() as bus:
        recording = RunningRecorder(bus, AcmeRun().verifying().events)
        async with recording.running():
            await recording.say(said)
            await recording.letters(1)
            await recording.say(receipted(said))
            finish = await recording.finish()

    assert finish.verified == 1  # said by who was given the work, it is one


@pytest.mark.parametrize("receipt", [WRONG, OF_ANOTHER, "", "x"])
async def test_a_receipt_is_of_one_piece_of_work(receipt: str) -> None:
    async with in_memory() as bus:
        recording = RunningRecorder(bus, AcmeRun().events)
        async with recording.running():
            await recording.say(replace(answer(), receipt=receipt))
            (letter,) = await recording.letters(1)

    assert letter.headers["error"] == "ForgedOutcome"


def test_a_receipt_is_the_same_for_every_attempt_and_every_process() -> None:
    (issued,) = [each for each in AcmeRun().events if isinstance(each, StageIssued)]
    again = RECEIPTS.work(replace(issued, attempt=7))

    assert again.receipt == RECEIPTS.work(issued).receipt
    assert decode_work(encode(again)).receipt == again.receipt
    assert len({RECEIPTS.of(*work) for work in PIECES}) == len(PIECES)


#: Which no separator may make one.
PIECES: tuple[tuple[str, StageName, str], ...] = (
    (LOOKUP, "ranking", ""),
    (LOOKUP, "verification", ""),
    (LOOKUP, "verification", HOME),
    (LOOKUP, "verification", f"x{HOME}"),
    (f"{LOOKUP}x", "verification", HOME),
)


async def test_a_stranger_s_word_is_reported_and_proves_nothing() -> None:
    (found,) = VERIFIED.checked
    (evidence,) = found.evidence
    stranger = CheckedPerson(
        person="p1",
        mail_domain=HOME,
        verdict=Verdict.DELIVERABLE,
        address=found.address,
        verifier="nobody",
        evidence=(replace(evidence, verifier="nobody"),),
    )
    async with in_memory() as bus:
        recording = RunningRecorder(bus, AcmeRun().verifying().events)
        with capture_logs() as lines:
            async with recording.running():
                said = answer(DomainVerified((stranger,)), "verification", HOME)
                await recording.say(receipted(said))
                finish = await recording.finish()

    assert (finish.outcome, finish.verified) == ("no_emails", 0)
    (line,) = [line for line in lines if line["event"] == "verifier_not_configured"]
    assert line["verifiers"] == ["nobody"]
