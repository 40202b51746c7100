"""Answers that reflect every call answered before, also while the views are behind."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping

import pytest
from msgspec.structs import replace

from cs.domain.contact import Query
from cs.domain.key import RunningSearch, SearchSettled, settled
from cs.eventlog.port import Append, LogUnavailable
from cs.eventlog.streams import Streams
from cs.keystore.port import KeysUnavailable
from cs.projections.catalogue import projections
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.searches import SEARCHES
from cs.projections.sqlite import sqlite_views
from domain.acme_run import AT, AcmeRun
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from projections.history import ADA_IS_AT, DONE, LIVE, admitted, write


class KeyStore(MemoryKeyStore):
    """A key store that can be away."""

    away = False

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        if self.away:
            raise KeysUnavailable("the key store is away")
        return await super().find(names)


class Reader:
    """A log with a history, its views, and somebody who reads them."""

    def __init__(self) -> None:
        self.keys = KeyStore()
        self.log = MemoryEventLog(self.keys)
        self.store = sqlite_views(None, projections())
        self.runner = ViewRunner(self.log, self.store, self.keys)
        self.reading = Reading(self.log, self.store, self.runner, self.keys)

    async def live_settles(self) -> None:
        """Let the search that runs come to its end."""
        await self.log.append([Append("key-one", 8, [self.end_of_live()])])

    def end_of_live(self) -> SearchSettled:
        return settled("s-live", f"{LIVE}.1", "timeout", 0, cached=False, at=AT)


@pytest.fixture
async def reader() -> AsyncIterator[Reader]:
    reader = Reader()
    await write(reader.log)
    await reader.runner.catch_up()
    yield reader
    await reader.store.close()


# Searches.


async def test_a_key_read_before_a_search_ended_does_not_tell_its_usage(
    reader: Reader,
) -> None:
    """Or one answer would say charged, and lack the charge (contract L12)."""
    now = (await Streams(reader.log).key("one")).state
    runs = RunningSearch(search="s-done", lookup=f"{DONE}.1", brand="Acme", query=Query("acme"))
    before = replace(now, used=0, running=(*now.running, runs))
    await reader.reading.search("s-done", "one", now)  # known to have ended from now on

    found = await reader.reading.search("s-done", "one", before)

    assert found is not None
    assert (found.row.charged, found.usage.used) == (True, 1)


# Views that are behind.


async def test_views_that_are_behind_are_advanced_for_the_answer_and_stay_behind(
    reader: Reader,
) -> None:
    run = AcmeRun(stream=LIVE).resolved().times_out()
    version = len(AcmeRun(stream=LIVE).resolved().events) - 1
    await reader.log.append([Append("key-one", 8, [admitted("s-new", f"{DONE}.1")])])
    await reader.log.append(
        [
            Append(LIVE, version, run.events[version + 1 :]),
            Append("key-one", 9, [reader.end_of_live()]),
        ]
    )

    new = await reader.reading.search("s-new", "one")
    ended = await reader.reading.search("s-live", "one")

    assert new is not None
    assert ended is not None
    assert new.row.status == "running"
    assert (ended.row.status, ended.row.reason) == ("failed", "timeout")
    assert ended.body is not None
    assert json.loads(ended.body)["searched_at"] == "2026-01-01T00:02:00Z"
    assert await reader.store.get(SEARCHES, "s-new") is None


async def test_views_too_far_behind_are_waited_for(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.projections.reading.AHEAD", 0)
    await reader.log.append([Append("key-one", 8, [admitted("s-new", f"{DONE}.1")])])
    asking = asyncio.create_task(reader.reading.search("s-new", "one"))
    await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
    assert not asking.done()

    await reader.runner.catch_up()

    found = await asking
    assert found is not None
    assert found.row.status == "running"


async def test_views_too_far_behind_for_too_long_are_reported(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.projections.reading.AHEAD", 0)
    monkeypatch.setattr("cs.projections.reading.PATIENCE_S", 0.005)
    await reader.live_settles()

    with pytest.raises(LogUnavailable, match="1 events behind the log"):
        await reader.reading.search("s-live", "one")


async def test_views_that_are_rebuilt_do_not_hide_what_was_there(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner thinks them at the log's end; they know nothing yet."""
    await reader.store.reset()

    found = await reader.reading.search("s-done", "one")

    assert found is not None
    assert ADA_IS_AT.encode() in (found.body or b""), "read from the log"
    monkeypatch.setattr("cs.projections.reading.AHEAD", 5)
    for ask in (
        reader.reading.search("s-live", "one"),
        reader.reading.usage("one"),
        reader.reading.keys(),
    ):
        with pytest.raises(LogUnavailable, match="rebuilt"):
            await ask


async def test_a_key_store_that_is_away_is_reported(reader: Reader) -> None:
    reader.keys.away = True

    with pytest.raises(LogUnavailable, match="the key store is away"):
        await reader.reading.search("s-done", "one")


# The runner.


async def test_views_ahead_of_the_log_are_rebuilt(reader: Reader) -> None:
    """A log that came back from a backup knows less than its views."""
    old = MemoryEventLog(reader.keys)
    await old.append([Append("key-one", -1, [(await reader.log.tail(0, 1))[0].event])])
    runner = ViewRunner(old, reader.store, reader.keys)

    await runner.catch_up()

    assert (runner.position, await reader.store.position()) == (1, 1)
    assert await reader.store.all(SEARCHES) == []
