"""One process reads the log once, whatever follows it there, and opens whom somebody wants."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

import pytest

from contracts.event_log import units
from cs.domain.brand.events import ContactsDiscovered, LookupFinished
from cs.eventlog.port import NO_STREAM, NOBODY, Append, EventLog
from domain.acme_run import AcmeRun
from harness.memory_keys import MemoryKeyStore
from harness.places import Place, log_in, streams_of
from projections.history import DONE, LIVE, write

NAME = "Ada Kern"


class NobodysKeys(MemoryKeyStore):
    """Keys of a process that opens nobody."""

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        raise AssertionError(f"asked for {sorted(names)}")

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        raise AssertionError(f"asked for {sorted(names)}")


class Counted:
    """A log, and how many pages of it were selected."""

    def __init__(self, log: Any) -> None:
        self.log: EventLog = log
        self.pages = 0
        page = log._page

        async def counted(after: int, limit: int) -> Any:
            self.pages += 1
            return await page(after, limit)

        log._page = counted


@pytest.fixture
async def keys(place: Place) -> MemoryKeyStore:
    """Keys of a log that another process wrote."""
    keys = MemoryKeyStore()
    async with log_in(place, keys) as log:
        await write(log)
        assert NAME in repr(await log.tail(0, 1_000)), "there is somebody to find"
        assert AcmeRun(stream=LIVE).resolved().events
    return keys


@pytest.fixture
async def reader(place: Place, keys: MemoryKeyStore) -> AsyncIterator[Counted]:
    async with log_in(place, keys) as log:
        await log.head()
        yield Counted(log)


@pytest.fixture
async def blind(place: Place, keys: MemoryKeyStore) -> AsyncIterator[Any]:
    """The log, without any keys."""
    del keys
    async with log_in(place, NobodysKeys()) as log:
        yield log


async def test_all_followers_read_an_event_once(reader: Counted) -> None:
    pages = await asyncio.gather(*(reader.log.tail(0, 1_000, NOBODY) for _ in range(3)))
    again = await reader.log.tail(5, 1_000, NOBODY)

    assert pages[0] == pages[1] == pages[2]
    assert list(pages[0][5:]) == list(again)
    assert reader.pages == 1


async def test_people_that_are_not_wanted_stay_sealed(blind: Any) -> None:
    found = await blind.tail(0, 1_000, NOBODY)

    people = [r.event for r in found if isinstance(r.event, ContactsDiscovered)]
    assert people
    assert {p.full_name for event in people for p in event.people} == {""}
    finished = [r.event for r in found if isinstance(r.event, LookupFinished)]
    assert any(event.verified for event in finished), "the rest reads as ever"
    assert NAME not in repr(found)


async def test_a_process_that_opens_no_person_holds_none(blind: Any) -> None:
    blind.wanted = NOBODY
    streams = streams_of(blind)

    live = (await streams.brand(LIVE)).state.live
    done = (await streams.brand(DONE)).state
    await blind.tail(0, 1_000)

    assert live is not None
    assert done.reusable is not None
    assert NAME not in repr((live, done))
    kept = blind._recent.after(0, 1_000)
    assert kept
    assert NAME not in repr(kept)


async def test_no_more_than_a_number_of_events_and_bytes_are_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.eventlog.table_log.MAX_EVENTS", 3)
    monkeypatch.setattr("cs.eventlog.table_log.MAX_BYTES", 300)
    async with log_in(place, MemoryKeyStore()) as log:
        counted = Counted(log)
        for n in range(6):
            await log.append([Append("key-a", n - 1, units(n))])
        assert len(await log.tail(3)) == 3
        assert counted.pages == 0, "the newest are in memory"
        assert [each.position for each in await log.tail(0)] == [1, 2, 3, 4, 5, 6]
        assert counted.pages == 1

        await log.append([Append("key-b", NO_STREAM, units(*range(9)))])
        assert [each.position for each in await log.tail(9)] == list(range(10, 16))
        await log.append([Append("key-c", NO_STREAM, units(1))])
        counted.pages = 0
        assert len(await log.tail(15)) == 1
        assert counted.pages == 0
