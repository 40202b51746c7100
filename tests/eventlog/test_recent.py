import asyncio

import pytest

from contracts.event_log import units
from cs.domain.brand.events import ContactsErased, PeopleFound
from cs.domain.codec import topic_of
from cs.domain.key import QuotaGranted
from cs.eventlog import recent
from cs.eventlog.port import EVERYBODY, NO_EVENT, NOBODY, EventNeeds, RecordedEvent
from cs.eventlog.recent import MAX_EVENTS, RecentEvent, RecentEvents

GRANT = units(1)[0]


def at(*positions: int) -> list[RecentEvent]:
    """Return what is decoded and not at hand as it is stored, as of an append."""
    return [
        RecentEvent(
            n, "key-a", n, topic_of(GRANT), None, opened=RecordedEvent(n, "key-a", n, GRANT)
        )
        for n in positions
    ]


def stored(*positions: int, topic: str = "key.quota-granted.v1") -> list[RecentEvent]:
    """Return what is at hand as it is stored and not decoded, as of a page."""
    return [RecentEvent(n, "key-a", n, topic, b"{}") for n in positions]


def after(events: RecentEvents, position: int, limit: int = 500) -> list[int]:
    return [each.position for each in events.after(position, limit)]


def test_a_follower_near_the_end_is_served_from_memory() -> None:
    events = RecentEvents()
    events.add(at(1, 2, 3))

    assert after(events, 0) == [1, 2, 3]
    assert after(events, 0, 2) == [1, 2]
    assert after(events, 2) == [3]
    assert after(events, 3) == []
    assert after(events, 9) == []


def test_a_follower_further_behind_reads_the_store() -> None:
    events = RecentEvents(head=10)
    assert after(events, 5) == []

    events.add(at(11, 12))

    assert after(events, 9) == []
    assert after(events, 10) == [11, 12]


def test_events_of_another_process_are_never_skipped() -> None:
    events = RecentEvents()
    events.add(at(1, 2))
    events.moved(4)  # 3 and 4 are another's
    events.add(at(5, 6))

    assert (events.head, after(events, 0), after(events, 2)) == (6, [1, 2], [])

    events.read(stored(3, 4))

    assert after(events, 0) == [1, 2, 3, 4, 5, 6]


def test_what_was_decoded_is_not_replaced_by_what_is_read_again() -> None:
    events = RecentEvents()
    events.add(at(1))

    (first, _) = events.read(stored(1, 2))

    assert first.taken(EVERYBODY) is not None
    assert first.state == b"{}", "and is at hand as it is stored from then on"
    assert events.head == 2


def test_an_event_is_served_as_it_is_wanted() -> None:
    (event,) = stored(1, topic="brand.people-found.v1")
    (skipped,) = stored(2, topic="brand.people-found.v1")
    event.state, skipped.state = b'{"sealed":{}}', None
    opened, shut = RecordedEvent(1, "a", 1, GRANT), RecordedEvent(1, "a", 1, GRANT)
    keys_only, people = (
        EventNeeds(frozenset({QuotaGranted})),
        EventNeeds(frozenset({PeopleFound})),
    )

    nothing = event.taken(keys_only)
    assert nothing is not None
    assert nothing.event is NO_EVENT
    assert event.taken(people) is None
    event.keep(shut, NOBODY)
    assert (event.taken(NOBODY), event.taken(people)) == (shut, None)
    event.keep(opened, EVERYBODY)
    assert event.taken(people) is opened

    assert skipped.serves(keys_only)
    assert not skipped.serves(people)


def test_who_was_forgotten_is_in_memory_no_more() -> None:
    events = RecentEvents()
    events.add(at(1, 2))
    events.read(stored(3, topic=topic_of(ContactsErased(lookup="", people=(), at=GRANT.at))))
    events.add(at(4))

    assert after(events, 0) == []
    assert after(events, 2) == [3, 4]


def test_hearing_of_the_past_moves_nothing_back() -> None:
    events = RecentEvents()
    events.add(at(1, 2, 3))
    events.moved(2)

    assert events.head == 3


@pytest.mark.parametrize("kept", [MAX_EVENTS, 3])
def test_no_more_than_the_newest_are_kept(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_EVENTS", kept)
    events = RecentEvents()
    events.add(at(*range(1, kept + 3)))

    assert after(events, 1) == []
    assert after(events, 2, 1) == [3]
    assert events.read(stored(1, 2))[0].position == 1, "it is read all the same"
    assert after(events, 0) == []


def test_large_events_are_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_BYTES", 100)
    topic = topic_of(GRANT)
    events = RecentEvents()

    events.add([RecentEvent(n, "key-a", n, topic, None, size=40) for n in (1, 2, 3)])
    assert (after(events, 0), after(events, 1), events.floor) == ([], [2, 3], 1)

    # What was kept without its bytes has them now; what is kept again counts once.
    events.read([RecentEvent(n, "key-a", n, topic, b"x" * 40) for n in (1, 2, 3)])
    events.drop(3)
    events.read([RecentEvent(3, "key-a", 3, topic, b"x" * 20)])
    events.add([RecentEvent(4, "key-a", 4, topic, None)])
    assert after(events, 1) == [2, 3, 4]
    events.read([RecentEvent(4, "key-a", 4, topic, b"x" * 50)])
    assert after(events, 2) == [3, 4]

    events.add([RecentEvent(5, "key-a", 5, topic, b"x" * 101)])
    assert after(events, 4) == []
    assert events.head == events.floor == 5
    events.add(stored(6))
    assert after(events, 5) == [6], "one that is too large keeps no others out"


async def test_everybody_who_waits_for_growth_is_told() -> None:
    events = RecentEvents()
    waiting = [asyncio.create_task(events.wait(n)) for n in (0, 1, 2)]
    await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])

    events.add(at(1))
    events.moved(2)
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting[:2])

    assert not waiting[2].done()
    events.moved(3)
    await waiting[2]


def test_the_place_of_the_first_event_costs_nothing_however_old_the_log_is() -> None:
    """Counted one by one up to there, this would not end."""
    old = 10**15
    events = RecentEvents()
    events.add(at(1, 2))

    events.add(at(*range(old, old + MAX_EVENTS + 1)))

    assert after(events, 0) == []
    assert after(events, old + MAX_EVENTS - 1) == [old + MAX_EVENTS]
    assert events.floor == old
