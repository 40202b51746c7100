import asyncio

import pytest

from contracts.event_log import units
from cs.eventlog import recent
from cs.eventlog.port import RecordedEvent
from cs.eventlog.recent import MAX_EVENTS, RecentEvents


def at(*positions: int) -> list[RecordedEvent]:
    return [RecordedEvent(n, "key-a", n, units(n)[0]) for n in positions]


def after(events: RecentEvents, position: int, limit: int = 500) -> list[int] | None:
    found = events.after(position, limit)
    return None if found is None else [recorded.position for recorded in found]


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
    assert after(events, 5) is None

    events.add(at(11, 12))

    assert after(events, 9) is None
    assert after(events, 10) == [11, 12]


def test_events_of_another_process_are_never_skipped() -> None:
    events = RecentEvents()
    events.add(at(1, 2))
    events.moved(4)  # 3 and 4 are another's
    assert (events.head, after(events, 1), after(events, 2)) == (4, [2], None)

    events.add(at(5, 6))

    assert after(events, 1) is None
    assert after(events, 4) == [5, 6]


def test_a_gap_within_one_batch_is_seen_too() -> None:
    events = RecentEvents()
    events.add(at(1, 2, 5, 6))

    assert after(events, 0) is None
    assert after(events, 4) == [5, 6]


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

    assert after(events, 1) is None
    assert after(events, 2, 1) == [3]


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
