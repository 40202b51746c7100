"""What every event log does, wherever it keeps its events."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from contracts.event_log import AT, DAY, said, start, units
from cs.domain.brand.events import LookupFinished, MailboxVerified, PeopleFound
from cs.domain.causation import EventCause, RequestCause
from cs.domain.codec import ALSO_READ, TOPICS
from cs.domain.key import KeyRevoked
from cs.domain.mail.mailbox import Verdict
from cs.domain.service import Paused, Resumed
from cs.eventlog.port import (
    EVERYTHING,
    NO_STREAM,
    Append,
    Ceiling,
    CeilingReached,
    EventLog,
    Where,
    WrongExpectedVersion,
)
from cs.keystore.port import KeyStore
from domain.golden_files import golden_event, golden_events
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.places import EVERY_POSTGRES, Place, kinds, log_in

kind = kinds("memory", "sqlite", *EVERY_POSTGRES)


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
async def log(kind: str, place: Place, keys: MemoryKeyStore) -> AsyncIterator[EventLog]:
    """An empty log."""
    if kind == "memory":
        yield MemoryEventLog(keys)
        return
    async with log_in(place, keys) as log:
        yield log


# Versions and positions.


async def test_an_empty_log_has_no_events_and_head_0(log: EventLog) -> None:
    assert await log.head() == 0
    assert list(await log.tail(0)) == []
    assert list(await log.read("key-a")) == []


async def test_versions_count_from_0_in_a_stream_and_positions_from_1_in_the_log(
    log: EventLog,
) -> None:
    first = await log.append([Append("key-a", NO_STREAM, units(1, 2))])
    second = await log.append([Append("key-b", NO_STREAM, units(3))])
    third = await log.append([Append("key-a", 1, units(4))])

    assert (first, second, third) == (2, 3, 4)
    assert [(r.position, r.stream, r.version) for r in await log.tail(0)] == [
        (1, "key-a", 0),
        (2, "key-a", 1),
        (3, "key-b", 0),
        (4, "key-a", 2),
    ]
    assert await log.head() == 4


async def test_a_stream_may_be_expected_at_a_version_and_get_nothing(log: EventLog) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1))])
    beside = [Append("key-a", 0, ()), Append("key-never", NO_STREAM, ())]

    assert await log.append([Append("key-b", NO_STREAM, units(2)), *beside]) == 2
    await log.append([Append("key-a", 0, units(3))])
    with pytest.raises(WrongExpectedVersion) as wrong:
        await log.append([Append("key-b", 0, units(4)), *beside])

    assert wrong.value.stream == "key-a"
    assert said(await log.read("key-b")) == [2]
    assert [(r.position, r.stream) for r in await log.tail(0)] == [
        (1, "key-a"),
        (2, "key-b"),
        (3, "key-a"),
    ]


async def test_a_stream_is_read_in_pages(log: EventLog) -> None:
    await log.append([Append("key-a", NO_STREAM, units(*range(4)))])
    await log.append([Append("key-b", NO_STREAM, units(9))])
    await log.append([Append("key-a", 3, units(*range(4, 7)))])

    assert said(await log.read("key-a", limit=3)) == [0, 1, 2]
    assert said(await log.read("key-a", 2, 3)) == [3, 4, 5]
    assert said(await log.read("key-a", 5, 3)) == [6]
    assert said(await log.read("key-a", 6, 3)) == []
    assert said(await log.read("key-a", limit=0)) == []
    assert said(await log.read("key-a", limit=None)) == list(range(7))


async def test_events_are_selected_by_topic_and_by_stream(log: EventLog) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1, 2))])
    await log.append([Append("service", NO_STREAM, [Paused(at=AT), Resumed(at=AT)])])
    await log.append([Append("key-b", NO_STREAM, [KeyRevoked(at=AT), *units(3)])])

    async def selected(where: Where, after: int = 0, upto: int = 99) -> list[int]:
        found = await log.select(where, after, upto)
        return [stored.position for stored in found]

    granted, paused = frozenset({"key.quota-granted.v1"}), frozenset({"service.paused.v1"})
    assert await selected(EVERYTHING) == [1, 2, 3, 4, 5, 6]
    assert await selected(EVERYTHING, 2, 4) == [3, 4]
    assert await selected(Where(topics=granted)) == [1, 2, 6]
    assert await selected(Where(topics=granted | paused), 1, 5) == [2, 3]
    assert await selected(Where(streams=frozenset({"key-b", "service"}))) == [3, 4, 5, 6]
    assert await selected(Where(prefixes=frozenset({"key-"}))) == [1, 2, 5, 6]
    both = Where(streams=frozenset({"service"}), prefixes=frozenset({"key-a"}))
    assert await selected(both) == [1, 2, 3, 4]
    assert await selected(Where(granted, frozenset({"key-b"}))) == [6]
    assert await selected(Where(topics=frozenset())) == []
    assert await selected(Where(streams=frozenset())) == []
    assert await selected(Where(prefixes=frozenset({"key_", "%", "KEY-"}))) == []


@pytest.mark.parametrize("category", ["brand", "key", "service", "mail-domain", "person"])
async def test_what_is_read_is_what_was_appended(log: EventLog, category: str) -> None:
    events = golden_events(category)
    await log.append([Append(f"{category}-x", NO_STREAM, events)])

    assert [r.event for r in await log.read(f"{category}-x")] == events
    assert [r.event for r in await log.tail(0)] == events


# Causes.


async def test_events_have_their_cause_wherever_they_are_read(log: EventLog) -> None:
    call = RequestCause(id="req_1", key="key_1")
    event = golden_event("brand.people-found.v1")  # some of it is sealed
    causes = [call, call, EventCause(position=2), None]

    await log.append(
        [
            Append("key-a", NO_STREAM, units(1), call),
            Append("brand-5f0c", NO_STREAM, [event], call),
        ]
    )
    await log.append([Append("key-a", 0, units(2), EventCause(position=2))])
    await log.append([Append("key-a", 1, units(3))])

    assert [r.caused_by for r in await log.tail(0)] == causes
    assert [r.caused_by for r in await log.read("brand-5f0c")] == [call]
    assert [r.event for r in await log.read("brand-5f0c")] == [event]
    for stored in (await log.stored(0), await log.select(EVERYTHING, 0, 4)):
        kinds = [json.loads(each.state).get("caused_by", {}).get("kind") for each in stored]
        assert kinds == ["request", "request", "event", None]


async def test_what_is_stored_is_reported_with_its_place_in_pages(log: EventLog) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1, 2))])
    await log.append([Append("key-b", NO_STREAM, units(3))])

    stored = await log.stored(0)

    assert [(r.position, r.stream, r.version, r.topic) for r in stored] == [
        (1, "key-a", 0, "key.quota-granted.v1"),
        (2, "key-a", 1, "key.quota-granted.v1"),
        (3, "key-b", 0, "key.quota-granted.v1"),
    ]
    assert [json.loads(r.state)["units"] for r in stored] == [1, 2, 3]
    assert await log.stored(1, 1) == stored[1:2]
    assert list(await log.stored(3)) == []


async def test_text_that_looks_like_the_log_s_own_marks_is_only_text(log: EventLog) -> None:
    issued = golden_event("key.issued.v1")
    resolved = golden_event("brand.resolved.v1")
    named = [replace(issued, label=word) for word in ("sealed", "personal")]
    sources = [
        replace(resolved, sources={word: "used"})
        for word in ("sealed", "personal", "box", "person")
    ]
    await log.append([Append("key-a", NO_STREAM, named)])
    await log.append([Append("brand-a", NO_STREAM, sources)])

    assert [r.event for r in await log.read("key-a")] == named
    assert [r.event for r in await log.read("brand-a")] == sources


#: What topics look like, of this version and of those to come (CONTRIBUTING.md); another text
#: is damage to a version that does not know it.
TOPIC = r"[a-z][a-z0-9]*(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*\.v[1-9][0-9]*"


@pytest.mark.parametrize("topic", [*TOPICS, *ALSO_READ])
def test_every_topic_looks_as_older_versions_expect(topic: str) -> None:
    assert re.fullmatch(TOPIC, topic, re.ASCII)


# Expected versions.


async def test_another_expected_version_is_refused_and_nothing_is_stored(
    log: EventLog,
) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1, 2))])

    for stream, expected in (
        *(("key-a", version) for version in (NO_STREAM, 0, 2, 7)),
        *(("key-never", version) for version in (0, 7)),
    ):
        with pytest.raises(WrongExpectedVersion) as refused:
            await log.append([Append(stream, expected, units(3))])
        assert refused.value.stream == stream
    assert said(await log.tail(0)) == [1, 2]


async def test_several_streams_are_appended_whole_or_not_at_all(log: EventLog) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1))])
    appends = [Append("brand-b", NO_STREAM, units(2)), Append("key-a", 4, units(3))]

    with pytest.raises(WrongExpectedVersion) as refused:
        await log.append(appends)
    assert refused.value.stream == "key-a"
    assert said(await log.tail(0)) == [1]

    position = await log.append([appends[0], Append("key-a", 0, units(3))])
    assert position == 3
    assert said(await log.tail(0)) == [1, 2, 3]


async def test_one_conflict_leaves_the_appends_next_to_it_alone(log: EventLog) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1))])
    appends = [Append(f"key-{n}", NO_STREAM, units(n)) for n in range(10)]
    appends.insert(5, Append("key-a", NO_STREAM, units(99)))

    answers = await asyncio.gather(
        *(log.append([append]) for append in appends), return_exceptions=True
    )

    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    assert [type(error) for error in failed] == [WrongExpectedVersion]
    assert sorted(said(await log.tail(1))) == list(range(10))


async def test_of_writers_of_one_stream_exactly_one_wins_each_version(log: EventLog) -> None:
    answers = await asyncio.gather(
        *(log.append([Append("key-a", NO_STREAM, units(n))]) for n in range(20)),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, int) for answer in answers) == 1
    assert len(await log.read("key-a")) == 1


# Reading as it grows.


async def test_the_tail_comes_in_pages(log: EventLog) -> None:
    await log.append([Append("key-a", NO_STREAM, units(*range(7)))])

    assert said(await log.tail(0, 3)) == [0, 1, 2]
    assert said(await log.tail(3, 3)) == [3, 4, 5]
    assert said(await log.tail(6, 3)) == [6]
    assert said(await log.tail(7, 3)) == []
    assert said(await log.tail(99)) == []


async def test_waiting_for_growth_ends_with_the_next_append(log: EventLog) -> None:
    waiting = asyncio.create_task(log.grown(1))
    await log.append([Append("key-a", NO_STREAM, units(1))])
    assert not waiting.done()

    await log.append([Append("key-a", 0, units(2))])

    async with asyncio.timeout(5):
        await waiting
        await log.grown(0)  # has grown already


# Callers that go away.


async def test_a_caller_that_gives_up_harms_no_other(log: EventLog) -> None:
    gone = asyncio.create_task(log.append([Append("key-gone", NO_STREAM, units(1))]))
    others = [
        asyncio.create_task(log.append([Append(f"key-{n}", NO_STREAM, units(n))]))
        for n in range(5)
    ]
    await asyncio.wait([asyncio.create_task(log.head())])
    gone.cancel()

    await asyncio.gather(gone, return_exceptions=True)
    await asyncio.gather(*others)

    stored = len(await log.read("key-gone"))
    assert stored in {0, 1}  # in doubt, as for any lost answer
    assert await log.head() == 5 + stored
    await log.append([Append("key-gone", stored - 1, units(2))])


# The daily ceiling of lookups started.


async def test_a_ceiling_of_zero_starts_no_lookup(log: EventLog) -> None:
    with pytest.raises(CeilingReached):
        await start(log, 1, AT, 0)

    assert await log.head() == 0


async def test_the_ceiling_opens_a_day_after_the_oldest_start_that_counts(
    log: EventLog,
) -> None:
    second = timedelta(seconds=1)
    await start(log, 1, AT, 2)
    await start(log, 2, AT + timedelta(hours=1), 2)

    with pytest.raises(CeilingReached) as reached:
        await start(log, 3, AT + DAY - second, 2)
    assert reached.value.opens_at == AT + DAY
    assert await log.ceiling_opens_at(Ceiling(AT + DAY - second, 2)) == AT + DAY
    assert await log.ceiling_opens_at(Ceiling(AT + DAY, 2)) is None

    await start(log, 3, AT + DAY, 2)
    with pytest.raises(CeilingReached) as reached:
        await start(log, 4, AT + DAY, 2)
    assert reached.value.opens_at == AT + timedelta(hours=25)


async def test_starts_of_a_clock_that_was_ahead_count_no_more(log: EventLog) -> None:
    for n in (1, 2):
        await start(log, n, AT + 30 * DAY, 2)

    for n in (3, 4):
        assert await log.ceiling_opens_at(Ceiling(AT, 2)) is None
        await start(log, n, AT, 2)
    assert await log.ceiling_opens_at(Ceiling(AT, 2)) == AT + DAY
    with pytest.raises(CeilingReached) as reached:
        await start(log, 5, AT, 2)
    assert reached.value.opens_at == AT + DAY


async def test_a_start_that_was_not_stored_does_not_count(log: EventLog) -> None:
    with pytest.raises(WrongExpectedVersion):
        await log.append([Append("brand-1", 3, units(1))], Ceiling(AT, 1))
    await start(log, 1, AT, 1)
    for n in (2, 3):
        with pytest.raises(CeilingReached):
            await start(log, n, AT + timedelta(hours=n), 1)

    await start(log, 4, AT + DAY, 1)


async def test_a_start_without_a_ceiling_counts_for_one_that_comes_later(log: EventLog) -> None:
    await start(log, 1, AT, None)

    with pytest.raises(CeilingReached):
        await start(log, 2, AT, 1)


async def test_twenty_starts_at_once_admit_exactly_the_limit(log: EventLog) -> None:
    answers = await asyncio.gather(
        *(start(log, n, AT, 7) for n in range(20)), return_exceptions=True
    )

    assert sum(isinstance(answer, int) for answer in answers) == 7
    assert sum(isinstance(answer, CeilingReached) for answer in answers) == 13
    assert await log.head() == 7


# People: sealed, each under a key that can be destroyed.


async def test_an_erased_person_reads_as_empty_and_the_rest_as_before(
    log: EventLog, keys: KeyStore
) -> None:
    finished = golden_event("brand.lookup-finished.v1")
    found = golden_event("brand.people-found.v1")
    verified = golden_event("brand.mailbox-verified.v1")
    assert isinstance(finished, LookupFinished)
    await log.append([Append("brand-5f0c", NO_STREAM, [found, verified, finished])])

    await keys.destroy([f"{finished.lookup}#p1"])

    people, mailbox, end = [r.event for r in await log.read("brand-5f0c")]
    assert isinstance(people, PeopleFound)
    assert [(p.person, p.full_name, p.linkedin_url) for p in people.people] == [
        ("p1", "", None)
    ]
    assert isinstance(mailbox, MailboxVerified)
    assert mailbox.checked.verdict is Verdict.UNKNOWN
    assert (mailbox.checked.address, mailbox.checked.evidence) == (None, ())
    assert isinstance(end, LookupFinished)
    erased, other = end.contacts
    assert {erased.full_name, erased.email, erased.headline, erased.linkedin_url} == {None}
    assert other == finished.contacts[1]
    assert (end.outcome, end.verified, end.brand) == ("done", 1, finished.brand)


async def test_a_person_erased_before_is_not_stored_again(
    log: EventLog, keys: KeyStore
) -> None:
    found = golden_event("brand.people-found.v1")
    assert isinstance(found, PeopleFound)
    await keys.destroy([f"{found.lookup}#p1"])

    await log.append([Append("brand-5f0c", NO_STREAM, [found])])

    (read,) = await log.read("brand-5f0c")
    assert isinstance(read.event, PeopleFound)
    assert read.event.people[0].full_name == ""


async def test_one_key_seals_one_person_of_one_lookup(log: EventLog, keys: KeyStore) -> None:
    finished = golden_event("brand.lookup-finished.v1")
    assert isinstance(finished, LookupFinished)
    later = replace(finished, lookup="brand-5f0c.2")
    await log.append([Append("brand-5f0c", NO_STREAM, [finished, later])])

    await keys.destroy([f"{finished.lookup}#p1"])

    _, untouched = [r.event for r in await log.read("brand-5f0c")]
    assert untouched == later
    names = [
        f"{lookup}#{p}" for lookup in (finished.lookup, later.lookup) for p in ("p1", "p2")
    ]
    opened = await keys.find(names)
    assert set(opened) == set(names[1:])
    assert len(set(opened.values())) == 3


async def test_what_is_reported_as_it_is_stored_has_people_sealed(log: EventLog) -> None:
    found = golden_event("brand.people-found.v1")
    await log.append([Append("brand-5f0c", NO_STREAM, [found])])

    ((_, stream, _, topic, state),) = await log.stored(0)

    (person,) = json.loads(state)["people"]
    assert (stream, topic) == ("brand-5f0c", "brand.people-found.v1")
    assert {**person, "box": ""} == {"sealed": "person", "person": "p1", "box": ""}
    assert b"Quillfeather" not in state
