"""One process reads the log once, whatever follows it there, and opens whom somebody wants."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cs.domain.brand.events import ContactsDiscovered, LookupFinished
from cs.domain.codec import decode, encode, topic_of
from cs.domain.key import SearchAdmitted
from cs.eventlog.mapper import StoredRow
from cs.eventlog.port import EVERYBODY, NO_EVENT, NOBODY, EventLog, EventNeeds, RecordedEvent
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.sealed_state import SealedState
from cs.eventlog.sealing import seal
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.streams import Streams
from domain.acme_run import AcmeRun
from domain.golden_files import golden_event
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
    """Counts the pages that a log selects, by what is left unread in them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.pages = Counter[frozenset[str]]()

    async def _select_page(
        self, after: int, limit: int, unread: Collection[str]
    ) -> Sequence[StoredRow]:
        self.pages[frozenset(unread)] += 1
        page: Sequence[StoredRow] = await super()._select_page(after, limit, unread)  # type: ignore[misc]
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
        assert all(a is b for a, b in zip(pages[0], pages[1], strict=True)), "decoded once"
        assert sum(reader.pages.values()) == 1

    async def test_what_nobody_wants_is_not_fetched(self, reader: CountedSqlite) -> None:
        only = EventNeeds(frozenset({SearchAdmitted}))

        found = await reader.tail(0, 1_000, only)

        whole = await reader.tail(0, 1_000)
        assert [r.position for r in found] == [r.position for r in whole]
        assert [r.stream for r in found] == [r.stream for r in whole]
        for each, full in zip(found, whole, strict=True):
            wanted = isinstance(full.event, SearchAdmitted)
            assert each.event == (full.event if wanted else NO_EVENT)
        (first, second) = reader.pages
        assert topic_of(golden_event("brand.people-found.v1")) in first
        assert not second, "then somebody wanted them"
        await reader.tail(0, 1_000, only)
        await reader.tail(0, 1_000)
        assert sum(reader.pages.values()) == 2

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
        recent = blind._recent.after(0, 1_000)
        assert recent
        assert all(NAME not in repr(each.taken(NOBODY)) for each in recent)
        sealed_in = [each for each in recent if b'"sealed"' in (each.state or b"")]
        assert {each.taken(EVERYBODY) for each in sealed_in} == {None}


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


# Text of stored events.


def sealed(spaces: bool) -> tuple[bytes, Mapping[str, bytes | None], RecordedEvent]:
    event = golden_event("brand.lookup-finished.v1")
    assert isinstance(event, LookupFinished)
    plain = json.loads(encode(event))
    keys = {f"{event.lookup}#{p}": bytes([n]) * 32 for n, p in enumerate(("p1", "p2"))}
    stored = seal(plain, event.lookup, keys)
    text = json.dumps(stored) if spaces else json.dumps(stored, separators=(",", ":"))
    return text.encode(), keys, RecordedEvent(1, event.lookup, 0, event)


@pytest.mark.parametrize("spaces", [False, True])
def test_a_value_is_found_however_it_is_written(spaces: bool) -> None:
    state, keys, recorded = sealed(spaces)
    taken_apart = SealedState(state)

    assert sorted(need.name for need in taken_apart.needs()) == sorted(keys)
    opened = taken_apart.opened(keys, lambda lost: pytest.fail(str(lost)))
    assert decode(topic_of(recorded.event), opened) == recorded.event
    shut = decode(topic_of(recorded.event), taken_apart.shut())
    assert isinstance(shut, LookupFinished)
    assert {contact.full_name for contact in shut.contacts} == {None}


def test_a_source_may_be_called_as_a_part_of_a_sealed_value_is() -> None:
    state = b'{"lookup":"b.1","sources":{"sealed":"used"},"brand":{"name":"{\\"sealed\\":"}}'

    assert SealedState(state).shut() == state
    assert list(SealedState(state).needs()) == []
