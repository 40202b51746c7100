"""What a stored log does after a restart, next to another process, and at its end."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from contracts.event_log import ABOUT_PEOPLE, AT, DAY, said, start, units
from cs.domain.person import PersonErased
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    CeilingReached,
    EventLog,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.keystore.port import KeyStore
from domain.golden_files import golden_event, golden_events
from harness.memory_keys import MemoryKeyStore
from harness.places import EVERY_POSTGRES, Place, keys_in, kinds, log_in, sql, stored_bytes

kind = kinds("sqlite", *EVERY_POSTGRES)
LOG = "log.db"
Open: TypeAlias = Callable[[KeyStore], AbstractAsyncContextManager[EventLog]]


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
def opened(place: Place) -> Open:
    """Open one and the same log, as a process does."""
    return partial(log_in, place)


async def test_everything_is_there_after_a_restart(opened: Open, keys: MemoryKeyStore) -> None:
    events = golden_events("brand")
    async with opened(keys) as log:
        await log.append([Append("brand-5f0c", NO_STREAM, events)])
        await start(log, 1, AT, 9)

    async with opened(keys) as log:
        assert [r.event for r in await log.tail(0, 10)] == events[:10]  # before all else
        assert [r.event for r in await log.read("brand-5f0c")] == events
        assert await log.head() == len(events) + 1
        with pytest.raises(CeilingReached):
            await start(log, 2, AT + timedelta(hours=23), 1)
        with pytest.raises(WrongExpectedVersion):
            await log.append([Append("brand-5f0c", NO_STREAM, units(1))])


async def test_newest_events_before_an_erasure_by_another_process_are_read_again(
    opened: Open, keys: MemoryKeyStore
) -> None:
    found = golden_event("brand.people-found.v1")
    erased = golden_event("person.erased.v1")
    assert isinstance(erased, PersonErased)
    async with opened(keys) as log, opened(keys) as other:
        await log.append([Append("brand-5f0c", NO_STREAM, [found])])
        assert [r.event for r in await log.tail(0)] == [found]

        await keys.destroy(["brand-5f0c.1#p1", *keys._keys])
        await other.append([Append("person-x", NO_STREAM, [erased])])
        await log.head()
        await log.tail(1)

        assert (await log.tail(0))[0].event != found


async def test_what_another_process_appends_is_seen_within_a_second_and_a_half(
    opened: Open, keys: MemoryKeyStore
) -> None:
    async with opened(keys) as log, opened(keys) as other:
        await log.append([Append("key-a", NO_STREAM, units(1))])
        waiting = asyncio.create_task(log.grown(1))
        await other.append([Append("key-a", 0, units(2))])

        assert await log.head() == 2
        assert said(await log.read("key-a")) == [1, 2]
        async with asyncio.timeout(1.5):
            await waiting
        assert said(await log.tail(1)) == [2]


async def test_a_conflict_with_another_process_is_refused(
    opened: Open, keys: MemoryKeyStore
) -> None:
    async with opened(keys) as log, opened(keys) as other:
        await other.append([Append("key-a", NO_STREAM, units(1))])

        with pytest.raises(WrongExpectedVersion):
            await log.append([Append("key-a", NO_STREAM, units(2))])

        await log.append([Append("key-a", 0, units(2))])
        assert said(await other.read("key-a")) == [1, 2]


async def test_what_stands_between_one_s_own_events_is_not_skipped(
    opened: Open, keys: MemoryKeyStore
) -> None:
    async with opened(keys) as log, opened(keys) as other:
        await log.append([Append("key-a", NO_STREAM, units(1, 2))])
        await other.append([Append("key-a", 1, units(3))])
        await log.append([Append("key-a", 2, units(4))])

        assert said(await log.tail(0)) == [1, 2, 3, 4]
        assert said(await log.tail(1, 2)) == [2, 3]
        assert said(await log.tail(3)) == [4]


async def test_a_closed_log_says_that_it_is_unavailable(
    opened: Open, keys: MemoryKeyStore
) -> None:
    async with opened(keys) as log:
        await log.append([Append("key-a", NO_STREAM, units(1))])

    with pytest.raises(LogUnavailable):
        await log.append([Append("key-a", 0, units(2))])
    with pytest.raises(LogUnavailable):
        await log.read("key-a")
    with pytest.raises(LogUnavailable):
        await log.head()


async def test_events_of_a_log_that_is_left_are_stored_or_refused_never_lost(
    opened: Open, keys: MemoryKeyStore
) -> None:
    async with opened(keys) as log:
        appending = [
            asyncio.create_task(log.append([Append(f"key-{n}", NO_STREAM, units(n))]))
            for n in range(700)
        ]
        await asyncio.wait(appending, return_when=asyncio.FIRST_COMPLETED)

    answers = await asyncio.gather(*appending, return_exceptions=True)
    stored = [answer for answer in answers if isinstance(answer, int)]
    assert {type(a) for a in answers if isinstance(a, BaseException)} <= {LogUnavailable}
    async with opened(keys) as log:
        assert await log.head() == len(stored) > 0


async def test_two_processes_that_write_at_once_lose_nothing_and_agree_on_the_order(
    opened: Open, keys: MemoryKeyStore
) -> None:
    async with opened(keys) as log, opened(keys) as other:
        await asyncio.gather(
            *(log.append([Append(f"key-a{n}", NO_STREAM, units(n))]) for n in range(50)),
            *(other.append([Append(f"key-b{n}", NO_STREAM, units(n))]) for n in range(50)),
        )
        async with asyncio.timeout(3):
            await asyncio.gather(log.grown(99), other.grown(99))

        order = [each.stream for each in await log.tail(0)]
        found: list[str] = []
        while page := await other.tail(len(found), 7):
            assert page[0].position == len(found) + 1
            found += [each.stream for each in page]
        assert found == order
        assert len(set(order)) == 100


async def test_a_log_that_cannot_be_written_says_so_and_goes_on_when_it_can(
    opened: Open, keys: MemoryKeyStore, place: Place
) -> None:
    async with opened(keys) as log:
        await sql(place, LOG, "ALTER TABLE stored_events RENAME TO away")
        with pytest.raises(LogUnavailable, match="stored_events"):
            await log.append([Append("key-a", NO_STREAM, units(1))])
        with pytest.raises(LogUnavailable, match="stored_events"):
            await log.read("key-a")
        await sql(place, LOG, "ALTER TABLE away RENAME TO stored_events")

        assert await log.append([Append("key-a", NO_STREAM, units(1))]) == 1
        assert said(await log.read("key-a")) == [1]


# People.


async def test_no_byte_on_the_disk_identifies_people(place: Place) -> None:
    events = golden_events("brand")
    async with keys_in(place) as keys, log_in(place, keys) as log:
        await log.append([Append("brand-5f0c", NO_STREAM, events)])
        assert [r.event for r in await log.read("brand-5f0c")] == events
        stored = await stored_bytes(place, LOG, "stored_events")
        stored_keys = await stored_bytes(place, "keys.db", "data_key|person_index")

    assert b"linkedin.com/company/acme" in stored
    assert stored_keys
    assert [text for text in ABOUT_PEOPLE if text.encode() in stored + stored_keys] == []


async def test_a_key_is_durable_before_the_event_it_opens(place: Place) -> None:
    stored_before: dict[str, int] = {}

    class Watched(MemoryKeyStore):
        async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
            wanted = tuple(names)
            ((stored,),) = await sql(place, LOG, "SELECT count(*) FROM stored_events")
            stored_before.update(dict.fromkeys(wanted, stored))
            return await super().ensure(wanted)

    finished = golden_event("brand.lookup-finished.v1")
    async with log_in(place, Watched()) as log:
        await log.append([Append("brand-5f0c", NO_STREAM, [finished])])

    assert sorted(stored_before.values()) == [0, 0], "one for each person"


async def test_keys_that_cannot_be_read_or_stored_make_the_log_unavailable(
    place: Place,
) -> None:
    found = golden_event("brand.people-found.v1")
    async with keys_in(place) as keys, log_in(place, keys) as log:
        await log.append([Append("brand-a", NO_STREAM, [found])])
        keys.forget()
        await sql(place, "keys.db", "ALTER TABLE data_key RENAME TO away")
        with pytest.raises(LogUnavailable, match="data keys could not be read"):
            await log.read("brand-a")
        with pytest.raises(LogUnavailable, match="data keys could not be stored"):
            await log.append([Append("brand-b", NO_STREAM, [found])])
        await sql(place, "keys.db", "ALTER TABLE away RENAME TO data_key")

        assert [r.event for r in await log.read("brand-a")] == [found]
        assert await log.append([Append("brand-b", NO_STREAM, [found])]) == 2


# The daily ceiling is read from the log itself, whatever became of its events.


@pytest.mark.parametrize("topic", ["brand.lookup-started.v1", "brand.lookup-started.v2"])
async def test_every_start_counts_also_one_that_cannot_be_read(
    opened: Open, keys: MemoryKeyStore, place: Place, topic: str
) -> None:
    hour = timedelta(hours=1)
    async with opened(keys) as log:
        for n in range(3):
            await log.append([Append(f"key-{n}", NO_STREAM, units(n))])
            await start(log, n, AT + n * hour, None)
    change = "UPDATE stored_events SET topic = $1 WHERE topic LIKE '%started%'"
    await sql(place, LOG, change, topic)
    if not isinstance(place, Path):
        await place.execute("DELETE FROM lookup_starts")  # it has the newest one back

    async with opened(keys) as log:
        with pytest.raises(CeilingReached) as reached:
            await start(log, 9, AT + 3 * hour, 1)
        assert reached.value.opens_at == AT + 2 * hour + DAY
        await start(log, 9, AT + 3 * hour, 4)


# Events that are damaged.


#: The event at position 4.
FOURTH = "originator_id = 'key-1' AND originator_version = 1"


@pytest.fixture
async def six(opened: Open, keys: MemoryKeyStore) -> None:
    """Three streams of two events."""
    async with opened(keys) as log:
        for n in range(3):
            await log.append([Append(f"key-{n}", NO_STREAM, units(0, 1))])


#: Stored bytes that are no event.
NO_EVENTS = (
    *(b"\xff", b"", b"{}", b'{"units":', b"[]", b"7", None, b'["sealed"]'),
    *(b'{"sealed":' * 5_000, b'{"units":1,"by":"Jo\xff Lane"}'),
)


@pytest.mark.usefixtures("six")
async def test_an_event_that_cannot_be_decoded_is_named_and_the_others_are_read(
    opened: Open, keys: MemoryKeyStore, place: Place
) -> None:
    for state in NO_EVENTS:
        await sql(place, LOG, f"UPDATE stored_events SET state = $1 WHERE {FOURTH}", state)

        async with opened(keys) as log:
            with pytest.raises(
                LogUnavailable, match="event 4, key-1 version 1, is d"
            ) as raised:
                await log.tail(0)
            assert "Lane" not in str(raised.value)  # which is logged
            with pytest.raises(LogUnavailable, match="event 4, key-1 version 1, is damaged"):
                await log.read("key-1")
            assert said(await log.tail(0, 3)) == [0, 1, 0]
            assert said(await log.read("key-2")) == [0, 1]


@pytest.mark.usefixtures("six")
async def test_an_event_that_is_missing_is_reported_and_never_skipped(
    opened: Open, keys: MemoryKeyStore, place: Place
) -> None:
    await sql(place, LOG, f"DELETE FROM stored_events WHERE {FOURTH}")

    async with opened(keys) as log:
        with pytest.raises(LogUnavailable, match="an event after 0 is missing"):
            await log.tail(0)
        assert said(await log.tail(4)) == [0, 1]
        await sql(place, LOG, "DELETE FROM stored_events WHERE originator_version = 0")
        with pytest.raises(LogUnavailable, match="an event of key-2 is missing"):
            await log.read("key-2")


@pytest.mark.usefixtures("six")
async def test_events_that_go_from_the_end_under_the_log_are_reported(
    opened: Open, keys: MemoryKeyStore, place: Place
) -> None:
    async with opened(keys) as log:
        assert await log.head() == 6
        gone = "originator_id = 'key-2' AND originator_version = 1"
        await sql(place, LOG, f"DELETE FROM stored_events WHERE {gone}")

        with pytest.raises(LogUnavailable, match="an event after 5 is missing"):
            await log.tail(5)


async def test_a_sealed_value_that_changed_is_named(
    opened: Open, keys: MemoryKeyStore, place: Place
) -> None:
    async with opened(keys) as log:
        found = golden_event("brand.people-found.v1")
        await log.append([Append("brand-a", NO_STREAM, [found])])
    ((state,),) = await sql(place, LOG, "SELECT state FROM stored_events")
    before, mark, box = state.partition(b'"box":"')
    changed = before + mark + (b"B" if box[:1] == b"A" else b"A") + box[1:]
    await sql(place, LOG, "UPDATE stored_events SET state = $1", changed)

    async with opened(keys) as log:
        with pytest.raises(LogUnavailable, match="event 1, brand-a version 0, is damaged"):
            await log.tail(0)
