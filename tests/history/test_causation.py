"""Chains of causes in any log, also in one that no service could have written."""

from collections.abc import Iterable
from datetime import UTC, datetime
from time import process_time

import pytest
from msgspec.structs import replace

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import AttemptFailed, LookupFinished, LookupStarted, StageIssued
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.stages.work import ResolutionInput
from cs.eventlog.port import NO_STREAM, Append, DamagedEvent
from cs.history.causes import explain
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

AT = datetime(2026, 3, 1, tzinfo=UTC)
QUERY = Query(brand="Nike")
STREAM = brand_stream(QUERY)
LOOKUP = lookup_id(STREAM, 1, "aaaa")
CALL = RequestCause(id="req_1", key="key_1")
#: Stream, event, cause.
Stored = tuple[str, AnyEvent, AnyCause | None]


def issued(attempt: int) -> StageIssued:
    return StageIssued(
        at=AT,
        lookup=LOOKUP,
        stage="brand-resolution",
        attempt=attempt,
        deadline_at=AT,
        input=ResolutionInput(QUERY),
    )


ADMITTED = SearchAdmitted(at=AT, search="s1", brand="b", query=QUERY, lookup=LOOKUP)
STARTED = LookupStarted(at=AT, lookup=LOOKUP, number=1, query=QUERY, deadline_at=AT)
FAILED = AttemptFailed(at=AT, lookup=LOOKUP, stage="brand-resolution", attempt=1, why="bug")
FINISHED = LookupFinished(
    at=AT, lookup=LOOKUP, outcome="no_linkedin", reusable=True, verified=0
)
SETTLED = SearchSettled(
    at=AT, search="s1", lookup=LOOKUP, outcome="no_linkedin", charged=False, cached=False
)
BEGINNING: list[Stored] = [
    ("key-1", ADMITTED, CALL),
    (STREAM, STARTED, CALL),
    (STREAM, issued(1), CALL),
]


async def log_of(events: Iterable[Stored]) -> MemoryEventLog:
    log, versions = MemoryEventLog(MemoryKeyStore()), dict[str, int]()
    for stream, event, cause in events:
        expected = versions.get(stream, NO_STREAM)
        await log.append([Append(stream, expected, (event,), cause)])
        versions[stream] = expected + 1
    return log


@pytest.mark.parametrize(
    ("cause", "follows"),
    [
        (MessageCause(topic="t", id=f"{LOOKUP}/brand-resolution//1/failed", attempt=1), (3,)),
        (MessageCause(topic="t", id=f"{LOOKUP}/ranking//7/ranked", attempt=7), (2,)),
        (MessageCause(topic="t", id="a/b/c/d/e/f", attempt=1), ()),
        (MessageCause(topic="t", id="/", attempt=1), ()),
        (TimerCause(timer="retry"), (4,)),
        (TimerCause(timer="silence"), (3,)),
        (TimerCause(timer="mended"), (3,)),
        (TimerCause(timer="deadline"), (2,)),
        (StartCause(), (3,)),
        (EventCause(position=1), (1,)),
        (EventCause(position=-1), ()),
        (EventCause(position=40), ()),
        (OperatorCause(command="pause"), ()),
        (None, ()),
    ],
)
async def test_a_cause_leads_to_an_earlier_event_or_to_none(
    cause: AnyCause | None, follows: tuple[int, ...]
) -> None:
    failed_before = (STREAM, FAILED, TimerCause(timer="silence"))
    log = await log_of([*BEGINNING, failed_before, (STREAM, FAILED, cause)])

    why = await explain(log, 5)

    assert why is not None
    assert why.event.follows == follows
    assert all(each.position < 5 for each in why.before)


async def test_a_damaged_event_is_reported_and_is_passed_over_in_the_chains_of_others() -> None:
    log = await log_of(
        [
            *BEGINNING,
            (STREAM, FINISHED, TimerCause(timer="deadline")),
            ("key-1", SETTLED, EventCause(position=4)),
        ]
    )
    log.spoil(3, b"\xff")

    with pytest.raises(DamagedEvent, match=r"event 3, .* version 1, is damaged"):
        await explain(log, 3)
    why = await explain(log, 5)

    assert why is not None
    assert [each.position for each in why.before] == [1, 2, 4]


async def test_what_followed_of_many_searches_takes_time_in_proportion_to_their_number() -> (
    None
):
    """2,000 searches that joined one run took 8 s, while no call was answered."""
    joined = 2_000
    searches = [f"s{number}" for number in range(joined)]
    finished = joined + 3
    log = await log_of(
        [
            *BEGINNING,
            *(("key-1", replace(ADMITTED, search=each), CALL) for each in searches),
            (STREAM, FINISHED, TimerCause(timer="deadline")),
            *(
                ("key-1", replace(SETTLED, search=each), EventCause(position=finished + 1))
                for each in searches
            ),
        ]
    )

    begun = process_time()
    why = await explain(log, finished + 1)
    took = process_time() - begun

    assert why is not None
    assert len(why.after) == joined
    assert why.after[0].follows == (finished + 1, 4)
    assert took < 3
