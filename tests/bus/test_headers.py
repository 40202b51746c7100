from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace

from bus.asyncapi.asyncapi_document import answers, works
from cs.bus.headers import (
    event_headers,
    outcome_headers,
    place_of,
    root_place,
    trace_id,
    work_headers,
)
from cs.bus.port import NO_HEADERS
from cs.bus.topics import PublicEvent
from cs.domain.mail.mailbox import Verdict
from cs.domain.stages.work import Alive, MailboxChecked, Outcome, PeopleSeen, Resolved

AT = datetime(2026, 1, 1, tzinfo=UTC)
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}

WORK = replace(works()["verification"], lookup="brand-a.1", deadline_at=AT)
OUTCOME = Outcome(
    lookup="brand-a.1",
    stage="verification",
    item="acme.example",
    attempt=2,
    finding=Resolved(status="no_match"),
)


def test_work_says_which_it_is_and_until_when_it_counts() -> None:
    headers = work_headers(WORK)

    assert headers.pop("traceparent").startswith("00-")
    assert headers == {
        "message-id": "brand-a.1/verification/acme.example/2/work",
        "attempt": "2",
        "deadline": "1767225600000",
        "schema": "cs.work.v1",
    }


def test_all_of_a_lookup_is_one_trace_and_each_message_a_place_in_it() -> None:
    all_work = [replace(work, lookup="brand-a.1") for work in works().values()]
    parents = [work_headers(work)["traceparent"].split("-") for work in all_work]
    (of_another,) = {work_headers(replace(WORK, lookup="brand-a.2"))["traceparent"]}

    assert len({trace for _, trace, _, _ in parents}) == 1
    assert len({span for _, _, span, _ in parents}) == len(all_work)
    assert of_another.split("-")[1] != parents[0][1]


def test_an_outcome_goes_on_in_the_trace_of_its_work() -> None:
    headers = outcome_headers(OUTCOME, WORK, GIVEN, at=AT)

    assert headers == {
        **GIVEN,
        "message-id": "brand-a.1/verification/acme.example/2/resolved",
        "attempt": "2",
        "deadline": "1767225600000",
        "schema": "cs.outcome.v1",
    }


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "junk",
        GIVEN["traceparent"].upper(),
        "01" + GIVEN["traceparent"][2:],
        GIVEN["traceparent"] + "-more",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
    ],
)
def test_work_without_a_usable_trace_is_in_that_of_its_lookup(damaged: str) -> None:
    root = root_place(WORK.lookup)

    assert place_of({"traceparent": damaged}, WORK.lookup) == root
    assert place_of(NO_HEADERS, WORK.lookup) == root
    assert trace_id({"traceparent": damaged}, WORK.lookup) == root.split("-")[1]
    assert work_headers(WORK)["traceparent"].split("-")[1] == root.split("-")[1]
    assert trace_id(GIVEN, WORK.lookup) == TRACE


def test_a_result_found_again_is_the_same_message_and_no_two_others_are() -> None:
    """Whoever skips what it has seen must miss no progress and no sign of life."""
    checked = next(
        outcome.finding for _, outcome in answers() if outcome.stage == "verification"
    )
    seen = next(o.finding for _, o in answers() if isinstance(o.finding, PeopleSeen))
    assert isinstance(checked, MailboxChecked)
    other = replace(checked.checked, person="p2")
    findings = [
        checked,
        MailboxChecked(checked=other),
        seen,
        PeopleSeen(people=()),
        Resolved(status="no_match"),
    ]
    ids = [
        outcome_headers(replace(OUTCOME, finding=finding), WORK, GIVEN, at=AT)["message-id"]
        for finding in findings
    ]
    alive = [
        outcome_headers(
            replace(OUTCOME, finding=Alive()), WORK, GIVEN, at=AT + timedelta(seconds=s)
        )["message-id"]
        for s in (0, 5)
    ]
    again = replace(
        OUTCOME,
        finding=MailboxChecked(checked=replace(other, verdict=Verdict.UNKNOWN)),
    )

    assert len({*ids, *alive}) == len(findings) + 2
    assert outcome_headers(again, WORK, GIVEN, at=AT)["message-id"] == ids[1]
    assert all(name.startswith("brand-a.1/verification/acme.example/2/") for name in ids)


def event(state: bytes, stream: str = "brand-a") -> PublicEvent:
    raw = msgspec.Raw(state)
    return PublicEvent(
        position=7, stream=stream, version=3, topic="brand.resolved.v1", state=raw
    )


def test_an_event_of_a_lookup_is_in_the_trace_of_its_work() -> None:
    headers = event_headers(event(b'{"lookup":"brand-a.1"}'))

    assert headers["traceparent"].split("-")[1] == trace_id(NO_HEADERS, "brand-a.1")
    del headers["traceparent"]
    assert headers == {
        "message-id": "brand-a/3",
        "schema": "cs.event.v1",
        "event": "brand.resolved.v1",
    }
