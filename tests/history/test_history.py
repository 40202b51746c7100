"""The history, held against a plain reading of every event."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import BrandForgotten, LookupStarted
from cs.domain.codec import AnyEvent, topic_of
from cs.domain.contact import Query
from cs.domain.key import (
    INITIAL,
    KeyIssued,
    QuotaGranted,
    SearchAdmitted,
    SearchSettled,
    evolve,
)
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import DomainLearned
from cs.domain.service import Paused
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.history import history as reading
from cs.history.history import History
from cs.history.selection import BadSelection, Selection
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

AT = datetime(2026, 3, 1, tzinfo=UTC)
NIKE, ACME = Query(brand="Nike"), Query(domain="acme.test")
LOOKUPS = {query: lookup_id(brand_stream(query), 1, "aaaa") for query in (NIKE, ACME)}


def about_key(at: datetime) -> Sequence[AnyEvent]:
    return (
        KeyIssued(at=at, label="a", quota=3, secret_hash="x", last4="1234"),
        QuotaGranted(at=at, units=2),
        SearchAdmitted(at=at, search="s1", brand="Nike", query=NIKE, lookup=LOOKUPS[NIKE]),
        SearchSettled(
            at=at,
            search="s1",
            lookup=LOOKUPS[ACME],
            outcome="no_emails",
            charged=False,
            cached=False,
        ),
    )


def about_brand(query: Query, at: datetime) -> Sequence[AnyEvent]:
    start = LookupStarted(
        at=at,
        lookup=LOOKUPS[query],
        number=1,
        query=query,
        deadline_at=at + timedelta(minutes=2),
    )
    return (start, BrandForgotten(at=at))


def about_others(at: datetime) -> Sequence[tuple[str, AnyEvent]]:
    return (
        ("service", Paused(at=at)),
        (
            "mail-domain-acme.test",
            DomainLearned(at=at, facts=DomainFacts(catch_all=True), expires_at=at),
        ),
    )


#: (stream, event): any of them at any time.
ENTRIES = st.builds(
    lambda seconds, pick: [
        *(("key-k1", event) for event in about_key(AT + timedelta(seconds=seconds))),
        *(("key-k2", event) for event in about_key(AT + timedelta(seconds=seconds))),
        *((brand_stream(NIKE), e) for e in about_brand(NIKE, AT + timedelta(seconds=seconds))),
        *((brand_stream(ACME), e) for e in about_brand(ACME, AT + timedelta(seconds=seconds))),
        *about_others(AT + timedelta(seconds=seconds)),
    ][pick],
    st.integers(0, 50),
    st.integers(0, 13),
)
SELECTIONS = st.builds(
    Selection,
    types=st.sampled_from(
        [(), ("search-settled",), ("key.issued", "brand.forgotten.v1"), ("service.paused.v1",)]
    ),
    categories=st.sampled_from([(), ("key",), ("brand", "mail-domain"), ("service",)]),
    streams=st.sampled_from([(), ("key-k2",), (brand_stream(NIKE), "service")]),
    keys=st.sampled_from([(), ("k1",)]),
    query=st.sampled_from([None, NIKE, ACME]),
    lookup=st.sampled_from([None, LOOKUPS[NIKE]]),
    mail_domain=st.sampled_from([None, "acme.test", "other.test"]),
    since=st.none() | st.integers(0, 50).map(lambda s: AT + timedelta(seconds=s)),
    until=st.none() | st.integers(0, 50).map(lambda s: AT + timedelta(seconds=s)),
    after=st.integers(0, 10),
    upto=st.none() | st.integers(0, 30),
)


def meant(recorded: RecordedEvent, chosen: Selection) -> bool:
    """Decide by each word of the selection's own description."""
    event, stream = recorded.event, recorded.stream
    lookup = getattr(event, "lookup", None)
    streams = {*chosen.streams, *(f"key-{key}" for key in chosen.keys)}
    if chosen.mail_domain:
        streams.add(f"mail-domain-{chosen.mail_domain}")
    in_streams = stream in streams or any(
        stream == c or stream.startswith(f"{c}-") for c in chosen.categories
    )
    brand = chosen.lookup.rpartition(".")[0] if chosen.lookup else None
    if brand is None and chosen.query is not None:
        brand = brand_stream(chosen.query)
    topic = topic_of(event)
    return (
        (not chosen.types or any(said.removesuffix(".v1") in topic for said in chosen.types))
        and (not (streams or chosen.categories) or in_streams)
        and (chosen.lookup is None or lookup == chosen.lookup)
        and (brand is None or stream == brand or (lookup or "").startswith(f"{brand}."))
        and (chosen.since is None or event.at >= chosen.since)
        and (chosen.until is None or event.at < chosen.until)
        and recorded.position > chosen.after
        and (chosen.upto is None or recorded.position <= chosen.upto)
    )


async def log_of(entries: Sequence[tuple[str, AnyEvent]]) -> MemoryEventLog:
    log, versions = MemoryEventLog(MemoryKeyStore()), dict[str, int]()
    for stream, event in entries:
        expected = versions.get(stream, NO_STREAM)
        await log.append([Append(stream, expected, (event,))])
        versions[stream] = expected + 1
    return log


@given(st.lists(ENTRIES, max_size=30), SELECTIONS)
async def test_a_selection_yields_exactly_what_it_says(
    entries: list[tuple[str, AnyEvent]], chosen: Selection
) -> None:
    log = await log_of(entries)

    found = [event.position async for event in History(log).events(chosen)]

    everything = await log.tail(0)
    assert found == [recorded.position for recorded in everything if meant(recorded, chosen)]


async def test_windows_are_read_to_the_end_and_progress_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "WINDOW", 4)
    log = await log_of([("key-k1", QuotaGranted(at=AT, units=n)) for n in range(10)])
    told: list[tuple[int, int]] = []

    found = [
        event.data()["units"]
        async for event in History(log).events(progress=lambda *far: told.append(far))
    ]

    assert found == list(range(10))
    assert told == [(4, 10), (8, 10), (10, 10)]


@given(st.lists(st.integers(0, 20), max_size=40), st.integers(-1, 21))
async def test_the_position_of_a_time_is_the_last_that_had_happened(
    seconds: list[int], asked: int
) -> None:
    # Out of order by some positions, as appends that waited for each other are.
    seconds = [n // 4 * 2 + second % 4 for n, second in enumerate(seconds)]
    log = await log_of(
        [("key-k1", QuotaGranted(at=AT + timedelta(seconds=s), units=1)) for s in seconds]
    )

    found = await History(log).position_at(AT + timedelta(seconds=asked))

    assert found == max((n for n, s in enumerate(seconds, 1) if s <= asked), default=0)


@given(st.lists(ENTRIES, max_size=30), st.integers(0, 32))
async def test_a_state_is_what_its_events_make_of_it_so_far(
    entries: list[tuple[str, AnyEvent]], position: int
) -> None:
    log = await log_of(entries)
    before: list[Any] = [
        r for r in await log.tail(0) if r.stream == "key-k1" and r.position <= position
    ]

    state = await History(log).state_at("key-k1", position)

    assert state.state == reduce(evolve, (r.event for r in before), INITIAL)
    assert state.version == len(before) - 1
    assert state.position == (before[-1].position if before else 0)


@given(SELECTIONS)
def test_a_disclosure_says_all_that_was_selected(chosen: Selection) -> None:
    assert Selection.of(chosen.asked()) == chosen


async def test_what_no_log_can_have_is_refused_with_what_there_is() -> None:
    with pytest.raises(BadSelection, match=r"'search-ended'; there are .*key\.search-settled"):
        Selection(types=("search-ended",))
    with pytest.raises(BadSelection, match="'keys': key, brand, mail-domain, person, discl"):
        Selection(categories=("keys",))
