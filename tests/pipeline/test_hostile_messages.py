"""Nothing that is written to a topic ends the role that reads it, or stops what comes after.

Every role runs that reads a topic: the recorder of outcomes with who is suppressed, the
driver, and the four stages, on every kind of log, keys, heartbeats and bus.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cs.bus.memory import MemoryBus
from cs.bus.port import Bus, Subscription
from cs.bus.topics import OUTCOMES, STAGE_TOPICS, decode_outcome, encode, work_key
from cs.domain.brand.events import BrandEvent, LookupFinished, StageIssued
from cs.domain.stages.work import Outcome, Resolved, StageName, Work
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.pipeline.heartbeats import Heartbeats, MemoryHeartbeats
from cs.pipeline.outcomes import GROUP, OutcomeRecorder
from cs.pipeline.runner import Runner
from cs.pipeline.suppression import SuppressionFilter
from domain.acme_run import AT, AcmeRun
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.hostile_messages import STREAM, Sent, outcomes, works
from pipeline.one_stage import STAGES
from pipeline.receipted import RECEIPTS, VERIFIERS, receipted

#: A search of its own for each example: they share a database where that is dear.
NUMBERS = count(1)
WITHIN_S = 30


class Form(NamedTuple):
    """What the roles of one service share."""

    log: EventLog
    keys: KeyStore
    heartbeats: Heartbeats
    bus: Bus


GROUPS = [
    (OUTCOMES, GROUP),
    (OUTCOMES, "test"),
    *((topic, stage) for stage, topic in STAGE_TOPICS.items()),
]


@asynccontextmanager
async def in_memory() -> AsyncIterator[Form]:
    keys = MemoryKeyStore()
    heartbeats = MemoryHeartbeats(ManualClock(AT).monotonic)
    yield Form(MemoryEventLog(keys), keys, heartbeats, MemoryBus(GROUPS))


def at_each_stage(stream: str) -> dict[str, Sequence[BrandEvent]]:
    """Return streams of which each has a lookup whose work another stage has."""
    begun = [AcmeRun(stream=f"{stream}{n}") for n in range(4)]
    begun[1].resolved()
    begun[2].resolved().discovered()
    begun[3].verifying()
    return {run.stream: run.events for run in begun}


def good_works(stream: str) -> list[Work]:
    """Return work for each stage that it can do."""
    run = AcmeRun(stream=f"{stream}9").verifying()
    return [
        Work(
            lookup=event.lookup,
            stage=event.stage,
            item=event.item,
            attempt=event.attempt,
            deadline_at=event.deadline_at,
            input=event.input,
        )
        for event in run.events
        if isinstance(event, StageIssued)
    ]


async def withstands(form: Form, sent: Sequence[Sent]) -> None:
    """Send *sent* to every role of a fresh search, then what is good, which must be handled."""
    stream = f"brand-0{next(NUMBERS):05x}"[: len(STREAM)].ljust(len(STREAM), "z")
    clock = ManualClock(AT)
    for name, events in at_each_stage(stream).items():
        await form.log.append([Append(name, NO_STREAM, events)])

    async def erase(*_: object) -> None:
        raise AssertionError("nobody is suppressed")

    recorder = OutcomeRecorder(
        Streams(form.log),
        form.bus,
        clock,
        form.heartbeats,
        receipts=RECEIPTS,
        verifiers=VERIFIERS,
        suppression=SuppressionFilter(form.keys, erase),
        drain_s=0,
    )
    runs = [
        recorder.run(),
        *(Runner(stage, form.bus, clock, drain_s=0).run() for stage in STAGES.values()),
    ]
    async with (
        asyncio.timeout(WITHIN_S),
        form.bus.subscribe(OUTCOMES, group="test") as answers,
        # In a group, so that a role that ends ends the test.
        asyncio.TaskGroup() as tasks,
    ):
        roles = [tasks.create_task(run) for run in runs]
        for each in sent:
            topic, key, value = each.about(stream)
            await form.bus.publish(topic, key=key, value=value)
        await good_outcomes_are_recorded(form, stream)
        await good_work_is_answered(form, stream, answers)
        assert [role for role in roles if role.done()] == []
        for role in roles:
            role.cancel()


async def good_work_is_answered(form: Form, stream: str, answers: Subscription) -> None:
    waited: set[StageName] = set()
    for work in good_works(stream):
        waited.add(work.stage)
        topic = STAGE_TOPICS[work.stage]
        await form.bus.publish(topic, key=work_key(work), value=encode(work))
    async for record in answers:
        await answers.commit(record)
        if record.value.startswith(f'{{"lookup":"{stream}9.1"'.encode()):
            waited.discard(decode_outcome(record.value).stage)
        if not waited:
            break


async def good_outcomes_are_recorded(form: Form, stream: str) -> None:
    later = AcmeRun(stream=f"{stream}8")
    await form.log.append([Append(later.stream, NO_STREAM, later.events)])
    said = Outcome(
        lookup=later.live.id,
        stage="brand-resolution",
        attempt=1,
        finding=Resolved(status="no_match"),
    )
    await form.bus.publish(OUTCOMES, key=said.lookup.encode(), value=encode(receipted(said)))
    while True:
        events = await form.log.read(later.stream)
        if isinstance(events[-1].event, LookupFinished):
            return
        await asyncio.sleep(0.001)


SENT = st.lists(outcomes() | works(), min_size=1, max_size=40)
CHECKS = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)

#: Not shrunk: where a good record is waited for in vain, each try takes its time.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


@pytest.mark.slow
@settings(
    max_examples=settings().max_examples // 4,
    deadline=None,
    phases=PHASES,
    suppress_health_check=CHECKS,
)
@given(SENT)
def test_in_memory_no_role_ends(sent: list[Sent]) -> None:
    async def run() -> None:
        async with in_memory() as form:
            await withstands(form, sent)

    asyncio.run(run())
