"""The headers of records: traces, ids and deadlines (docs/topics.md)."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from cs.bus.port import Record
from cs.domain.brand.events import StageIssued
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import (
    AnyFinding,
    DomainVerified,
    MailboxChecked,
    VerificationInput,
    Work,
)
from cs.plugins.stages import Report
from domain.acme_run import AT, HOME, checked
from domain.golden_files import golden_event
from pipeline.loop import Loop, ScriptedStage, message

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = f"00-{TRACE}-00f067aa0ba902b7-01"
WORK = Work(
    lookup="brand-a.1",
    stage="verification",
    item=HOME,
    attempt=2,
    deadline_at=AT + timedelta(seconds=60),
    input=VerificationInput(HOME, ()),
)


def trace_of(record: Record) -> str:
    return record.headers["traceparent"].split("-")[1]


async def answers(trace: str, *progress: AnyFinding) -> list[Record]:
    """Return the records of a stage that reports *progress* and ends, in *trace*."""

    async def do(_: Work, report: Report) -> AnyFinding:
        for each in progress:
            await report(each)
        return DomainVerified(())

    loop = Loop()
    async with loop.running(loop.stage(ScriptedStage(do, "verification"))):
        topic = STAGES["verification"].topic
        await loop.put(topic, message(WORK), headers={"traceparent": trace})
        return await loop.records(len(progress) + 1)


async def test_all_of_a_lookup_is_one_trace_and_each_message_a_place_in_it() -> None:
    loop = Loop()
    issued = golden_event("brand.stage-issued.v1+verification")
    assert isinstance(issued, StageIssued)
    first = replace(issued, lookup="brand-a.1", deadline_at=AT)
    await loop.append(
        "brand-a", first, replace(first, attempt=9), replace(first, lookup="brand-a.2")
    )
    async with loop.running(loop.relay(), loop.feed(_not_saved)):
        one, again, of_another = await loop.records(3, STAGES["verification"].topic)
        (event, *_) = await loop.records(3, "cs.events.v1")

    name = f"brand-a.1/verification/{HOME}"
    place = one.headers["traceparent"]
    assert one.headers == {
        "traceparent": place,
        "message-id": f"{name}/{first.attempt}/work",
        "attempt": str(first.attempt),
        "deadline": "1767225600000",
        "schema": "cs.work.v1",
    }
    assert event.headers == {
        "traceparent": event.headers["traceparent"],
        "message-id": "brand-a/0",
        "schema": "cs.event.v1",
        "event": "brand.stage-issued.v1",
    }
    assert trace_of(one) == trace_of(again) == trace_of(event) != trace_of(of_another)
    assert len({each.headers["traceparent"] for each in (one, again, event)}) == 3


async def _not_saved(_: int) -> None:
    pass


async def test_an_outcome_goes_on_in_the_trace_of_its_work() -> None:
    (record,) = await answers(GIVEN)

    assert record.headers == {
        "traceparent": GIVEN,
        "message-id": f"brand-a.1/verification/{HOME}/2/domain-verified",
        "attempt": "2",
        "deadline": "1767225660000",
        "schema": "cs.outcome.v1",
    }


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "junk",
        GIVEN.upper(),
        "01" + GIVEN[2:],
        GIVEN + "-more",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
    ],
)
async def test_work_without_a_usable_trace_is_in_that_of_its_lookup(damaged: str) -> None:
    loop = Loop()
    issued = golden_event("brand.stage-issued.v1+verification")
    assert isinstance(issued, StageIssued)
    await loop.append("brand-a", replace(issued, lookup="brand-a.1"))
    async with loop.running(loop.relay()):
        (work,) = await loop.records(1, STAGES["verification"].topic)

    (record,) = await answers(damaged)

    assert trace_of(record) == trace_of(work) != TRACE


async def test_a_result_found_again_is_the_same_message_and_no_two_others_are() -> None:
    """A reader that skips what it has seen misses no progress."""
    one, other = (MailboxChecked(checked(p, Verdict.DELIVERABLE)) for p in ("p1", "p2"))
    again = MailboxChecked(checked("p2", Verdict.UNKNOWN))

    ids = [each.headers["message-id"] for each in await answers(GIVEN, one, other, again)]

    assert len(set(ids)) == 3
    assert ids[1] == ids[2]
    assert all(name.startswith(f"brand-a.1/verification/{HOME}/2/") for name in ids)
