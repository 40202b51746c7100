"""Chains of causes in any log, also in one that no service could have written."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import (
    AttemptFailed,
    BrandResolved,
    ContactsErased,
    LookupFinished,
    LookupStarted,
    MailDomainChecked,
    StageIssued,
)
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
from cs.domain.key import SearchAdmitted, SearchRepeated, SearchSettled
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import DomainLearned
from cs.domain.stages.work import ResolutionInput
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import NO_STREAM, Append
from cs.history.causes import explain
from cs.keystore.memory import MemoryKeyStore

AT = datetime(2026, 3, 1, tzinfo=UTC)
QUERIES = (Query(brand="Nike"), Query(domain="acme.test"))
LOOKUPS = tuple(lookup_id(brand_stream(query), 1, "aaaa") for query in QUERIES)
#: Stream, event, cause.
Stored = tuple[str, AnyEvent, AnyCause | None]
#: Which lookup, search and event of `about`; its cause; seconds since the last one.
Entry = tuple[int, str, int, AnyCause | None, int]


def about(
    lookup: str, query: Query, search: str, at: datetime
) -> Sequence[tuple[str, AnyEvent]]:
    brand, key = brand_stream(query), f"key-{search}"
    work = ResolutionInput(query)
    return (
        (key, SearchAdmitted(at=at, search=search, brand="b", query=query, lookup=lookup)),
        (key, SearchRepeated(at=at, search=search)),
        *(
            (
                key,
                SearchSettled(
                    at=at,
                    search=search,
                    lookup=lookup,
                    outcome="no_linkedin",
                    charged=False,
                    cached=cached,
                ),
            )
            for cached in (False, True)
        ),
        (
            brand,
            LookupStarted(at=at, lookup=lookup, number=1, query=query, deadline_at=at),
        ),
        *(
            (
                brand,
                StageIssued(
                    at=at,
                    lookup=lookup,
                    stage="brand-resolution",
                    attempt=attempt,
                    deadline_at=at,
                    input=work,
                ),
            )
            for attempt in (1, 2)
        ),
        (brand, BrandResolved(at=at, lookup=lookup, status="no_match")),
        (
            brand,
            AttemptFailed(at=at, lookup=lookup, stage="brand-resolution", attempt=1, why="bug"),
        ),
        (brand, MailDomainChecked(at=at, lookup=lookup, mail_domain="acme.test")),
        (
            brand,
            LookupFinished(
                at=at, lookup=lookup, outcome="no_linkedin", reusable=True, verified=0
            ),
        ),
        (brand, ContactsErased(at=at, lookup=lookup, people=())),
        (
            "mail-domain-acme.test",
            DomainLearned(at=at, facts=DomainFacts(catch_all=True), expires_at=at),
        ),
    )


CAUSES: st.SearchStrategy[AnyCause | None] = st.one_of(
    st.none(),
    st.just(RequestCause(id="req_1", key="key_1")),
    st.builds(
        MessageCause,
        topic=st.just("cs.outcomes.v1"),
        id=st.sampled_from(
            [
                "",
                "/",
                "a/b/c/d/e/f",
                *(f"{lookup}/brand-resolution//1/resolved" for lookup in LOOKUPS),
                f"{LOOKUPS[0]}/verification/acme.test/99999999999999999999/x",
            ]
        ),
        attempt=st.just(1),
    ),
    st.builds(TimerCause, timer=st.sampled_from(["deadline", "retry", "silence", "mended"])),
    st.just(OperatorCause(command="pause")),
    st.just(StartCause()),
    st.builds(EventCause, position=st.integers(-1, 40)),
)
ENTRIES: st.SearchStrategy[Entry] = st.tuples(
    st.integers(0, 1),
    st.sampled_from(["s1", "s2"]),
    st.integers(0, 12),
    CAUSES,
    st.sampled_from([0, 1, 3000, 4000]),
)


def events_of(entries: Sequence[Entry]) -> Iterator[Stored]:
    at = AT
    for which, search, pick, cause, seconds in entries:
        at += timedelta(seconds=seconds)
        yield (*about(LOOKUPS[which], QUERIES[which], search, at)[pick], cause)


async def log_of(events: Iterable[Stored]) -> MemoryEventLog:
    log, versions = MemoryEventLog(MemoryKeyStore()), dict[str, int]()
    for stream, event, cause in events:
        expected = versions.get(stream, NO_STREAM)
        await log.append([Append(stream, expected, (event,), cause)])
        versions[stream] = expected + 1
    return log


async def links(log: MemoryEventLog) -> dict[int, tuple[object, ...]]:
    """Return why each event came about, by position; each comes of earlier ones only."""
    found: dict[int, tuple[object, ...]] = {}
    for position in range(1, await log.head() + 1):
        why = await explain(log, position)
        assert why is not None
        assert why.event.position == position
        for event in (*why.before, why.event, *why.after):
            assert all(each < event.position for each in event.follows), event
        before, after = ([e.position for e in events] for events in (why.before, why.after))
        assert before == sorted(before)
        assert after == sorted(after)
        assert all(each < position for each in before)
        assert all(each > position for each in after)
        found[position] = (why.event.follows, before, after)
    return found


@given(st.lists(ENTRIES, max_size=30))
async def test_no_chain_is_a_circle_whatever_is_stored(entries: list[Entry]) -> None:
    await links(await log_of(events_of(entries)))


async def test_a_damaged_event_is_told_and_is_passed_over_in_the_chains_of_others() -> None:
    call = RequestCause(id="req_1", key="key_1")
    admitted, _, settled, *_ = about(LOOKUPS[0], QUERIES[0], "s1", AT)
    started, issued = about(LOOKUPS[0], QUERIES[0], "s1", AT)[4:6]
    finished = about(LOOKUPS[0], QUERIES[0], "s1", AT)[10]
    log = await log_of(
        [
            (*admitted, call),
            (*started, call),
            (*issued, call),
            (*finished, TimerCause(timer="deadline")),
            (*settled, EventCause(position=4)),
        ]
    )
    log.spoil(3, b"\xff")

    with pytest.raises(DamagedEvent, match=r"event 3, .* version 1, is damaged"):
        await explain(log, 3)
    why = await explain(log, 5)

    assert why is not None
    assert [each.position for each in why.before] == [1, 2, 4]
