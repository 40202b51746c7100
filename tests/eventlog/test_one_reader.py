"""One process reads the log once, whatever follows it there, and opens whom somebody wants."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from contracts.event_log import units
from cs.domain.brand.events import ContactsDiscovered, ContactsErased, LookupFinished
from cs.domain.codec import topic_of
from cs.domain.key import SearchAdmitted
from cs.eventlog import table_log as recent
from cs.eventlog.mapper import StoredRow
from cs.eventlog.port import NO_EVENT, NOBODY, EventLog, EventNeeds, RecordedEvent
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.sqlite import SqliteEventLog
from cs.eventlog.streams import Streams
from cs.eventlog.table_log import RecentEvent, RecentEvents
from domain.acme_run import AcmeRun
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated
from projections.history import DONE, LIVE, write

NAME = "Ada Kern"


class NobodysKeys(MemoryKeyStore):
    """Keys of a process that opens nobody."""

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        raise AssertionError(f"asked for {sorted(names)}")

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        raise AssertionError(f"asked for {sorted(names)}")


class PagesCounted:
    """Counts the pages that a log selects."""

    pages = 0

    async def _page(self, after: int, limit: int) -> Sequence[StoredRow]:
        self.pages += 1
        page: Sequence[StoredRow] = await super()._page(after, limit)  # type: ignore[misc]
        return page


class CountedSqlite(PagesCounted, SqliteEventLog): ...


class CountedPostgres(PagesCounted, PostgresEventLog): ...


class ReaderCases:
    """Inherit, and give ``reader``, a log that another process wrote, its pages counted.

    ``blind`` is the same without any keys.
    """

    async def test_all_who_follow_read_an_event_once(self, reader: CountedSqlite) -> None:
        pages = await asyncio.gather(*(reader.tail(0, 1_000, NOBODY) for _ in range(3)))
        again = await reader.tail(5, 1_000, NOBODY)

        assert pages[0] == pages[1] == pages[2]
        assert list(pages[0][5:]) == list(again)
        assert reader.pages == 1

    async def test_what_is_not_wanted_is_not_decoded(self, reader: CountedSqlite) -> None:
        only = EventNeeds(frozenset({SearchAdmitted}))

        found = await reader.tail(0, 1_000, only)

        whole = await reader.tail(0, 1_000)
        assert [r.position for r in found] == [r.position for r in whole]
        assert [r.stream for r in found] == [r.stream for r in whole]
        for each, full in zip(found, whole, strict=True):
            wanted = isinstance(full.event, SearchAdmitted)
            assert each.event == (full.event if wanted else NO_EVENT)
        assert reader.pages == 1

    async def test_who_is_not_wanted_stays_sealed(self, blind: SqliteEventLog) -> None:
        found = await blind.tail(0, 1_000, NOBODY)

        people = [r.event for r in found if isinstance(r.event, ContactsDiscovered)]
        assert people
        assert {p.full_name for event in people for p in event.people} == {""}
        finished = [r.event for r in found if isinstance(r.event, LookupFinished)]
        assert any(event.verified for event in finished), "the rest reads as ever"
        assert NAME not in repr(found)

    async def test_a_process_that_opens_nobody_holds_nobody(
        self, blind: SqliteEventLog
    ) -> None:
        blind.wanted = NOBODY
        streams = Streams(blind)

        live = (await streams.brand(LIVE)).state.live
        done = (await streams.brand(DONE)).state
        await blind.tail(0, 1_000)

        assert live is not None
        assert done.reusable is not None
        assert NAME not in repr((live, done))
        kept = blind._recent.after(0, 1_000)
        assert kept
        assert NAME not in repr(kept)


class TestSqlite(ReaderCases):
    @pytest.fixture
    async def keys(self, tmp_path: Path) -> MemoryKeyStore:
        keys = MemoryKeyStore()
        async with SqliteEventLog(tmp_path / "log.db", keys) as log:
            await written(log)
        return keys

    @pytest.fixture
    async def reader(
        self, tmp_path: Path, keys: MemoryKeyStore
    ) -> AsyncIterator[CountedSqlite]:
        async with CountedSqlite(tmp_path / "log.db", keys) as log:
            yield log

    @pytest.fixture
    async def blind(self, tmp_path: Path, keys: MemoryKeyStore) -> AsyncIterator[EventLog]:
        del keys
        async with SqliteEventLog(tmp_path / "log.db", NobodysKeys()) as log:
            yield log


class TestPostgres(ReaderCases):
    @pytest.fixture
    async def keys(self, database: str) -> MemoryKeyStore:
        keys = MemoryKeyStore()
        async with migrated(database) as pool, PostgresEventLog(pool, keys) as log:
            await written(log)
        return keys

    @pytest.fixture
    async def reader(
        self, database: str, keys: MemoryKeyStore
    ) -> AsyncIterator[CountedPostgres]:
        async with migrated(database) as pool, CountedPostgres(pool, keys) as log:
            await log.head()
            yield log

    @pytest.fixture
    async def blind(self, database: str, keys: MemoryKeyStore) -> AsyncIterator[EventLog]:
        del keys
        async with migrated(database) as pool, PostgresEventLog(pool, NobodysKeys()) as log:
            yield log


async def written(log: EventLog) -> None:
    await write(log)
    assert NAME in repr(await log.tail(0, 1_000)), "there is somebody to find"
    assert AcmeRun(stream=LIVE).resolved().events


# What is in memory.

GRANT = units(1)[0]


def at(*positions: int, topic: str = topic_of(GRANT), size: int = 2) -> list[RecentEvent]:
    """Return events that this process appended."""
    return [
        RecentEvent(
            (n, "key-a", n, topic, b"x" * size), given=RecordedEvent(n, "key-a", n, GRANT)
        )
        for n in positions
    ]


def after(events: RecentEvents, position: int, limit: int = 500) -> list[int]:
    return [each.row[0] for each in events.after(position, limit)]


def test_events_of_another_process_are_never_skipped() -> None:
    events = RecentEvents(head=10)
    events.add(at(11, 12))
    events.moved(14)  # 13 and 14 are another's
    events.add(at(15, 16))

    assert (after(events, 9), after(events, 10), after(events, 12)) == ([], [11, 12], [])
    assert after(events, 10, 1) == [11]
    assert events.head == 16

    events.add([RecentEvent((n, "key-b", n, topic_of(GRANT), b"{}")) for n in (12, 13, 14)])

    assert after(events, 10) == [11, 12, 13, 14, 15, 16]
    assert events.reads_as_given(12), "it is not replaced by what is read again"
    assert not events.reads_as_given(13)


def test_who_was_forgotten_is_in_memory_no_more() -> None:
    events = RecentEvents()
    events.add(at(1, 2))
    events.add(at(3, topic=topic_of(ContactsErased(lookup="", people=(), at=GRANT.at))))
    events.add(at(4))

    assert (after(events, 0), after(events, 2)) == ([], [3, 4])


def test_no_more_than_a_number_of_events_and_bytes_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recent, "MAX_EVENTS", 3)
    monkeypatch.setattr(recent, "MAX_BYTES", 100)
    events = RecentEvents()

    events.add(at(1, 2, 3, 4))
    assert (after(events, 0), after(events, 1), events.floor) == ([], [2, 3, 4], 1)
    events.add(at(1))
    assert after(events, 0, 1) == [], "it is not wanted back"
    events.add(at(5, 6, size=49))
    assert after(events, 3) == [4, 5, 6]
    events.add(at(7, size=101))
    assert (after(events, 6), events.head, events.floor) == ([], 7, 7)
    events.add(at(8))
    assert after(events, 7) == [8], "one that is too large keeps no others out"


async def test_every_waiter_for_growth_is_woken() -> None:
    events = RecentEvents()
    waiting = [asyncio.create_task(events.wait(n)) for n in (0, 1, 2)]
    await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])

    events.add(at(1))
    events.moved(2)
    events.moved(1)
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting[:2])

    assert (waiting[2].done(), events.head) == (False, 2)
    events.moved(3)
    await waiting[2]
