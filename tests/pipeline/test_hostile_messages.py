"""Nothing that is written to a topic ends the role that reads it, or stops what comes after.

Every role runs that reads a topic: the recorder of outcomes, with who is suppressed, and the
four stages.
"""

import asyncio
from collections.abc import Sequence
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cs.domain.brand.events import BrandEvent, LookupFinished, StageIssued
from cs.domain.stages.work import Resolved, StageName, Work
from domain.acme_run import AcmeRun
from harness.outside import stages
from pipeline.hostile_messages import STREAM, Sent, outcomes, works
from pipeline.loop import Loop, suppressing_no_person

#: A search of its own for each example.
NUMBERS = count(1)
WITHIN_S = 30


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


async def withstands(loop: Loop, sent: Sequence[Sent]) -> None:
    """Send *sent* to every role of a fresh search, then what is good, which must be handled."""
    stream = f"brand-0{next(NUMBERS):05x}"[: len(STREAM)].ljust(len(STREAM), "z")
    for name, events in at_each_stage(stream).items():
        await loop.append(name, *events)
    recorder = loop.recorder(suppression=suppressing_no_person(loop.keys))
    roles = [recorder.run(), *(loop.stage(each) for each in stages())]
    async with asyncio.timeout(WITHIN_S), loop.running(*roles):
        for each in sent:
            topic, key, value = each.about(stream)
            await loop.put(topic, value, key)
        await good_outcomes_are_recorded(loop, stream)
        await good_work_is_answered(loop, stream)


async def good_work_is_answered(loop: Loop, stream: str) -> None:
    works = good_works(stream)
    waited: set[StageName] = {work.stage for work in works}
    await loop.give(*works)
    while waited:
        (outcome,) = await loop.outcomes(1)
        if outcome.lookup == f"{stream}9.1":
            waited.discard(outcome.stage)


async def good_outcomes_are_recorded(loop: Loop, stream: str) -> None:
    later = AcmeRun(stream=f"{stream}8")
    await loop.append(later.stream, *later.events)
    no_match = Resolved(status="no_match")
    await loop.say("brand-resolution", no_match, lookup=later.live.id)
    await loop.event(LookupFinished, lookup=later.live.id)


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
def test_no_role_ends(sent: list[Sent]) -> None:
    asyncio.run(withstands(Loop(), sent))
