"""What a stored log does after a restart, next to another process, and at its end."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TypeAlias

import pytest

from contracts.event_log import AT, said, units
from contracts.event_log_ceiling import start
from contracts.event_log_people import NoRoom
from cs.domain.brand.events import PeopleFound
from cs.domain.person import PersonErased
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    CeilingReached,
    EventLog,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.keystore.port import KeyStore, KeysUnavailable
from domain.golden_files import golden_event, golden_events
from harness.memory_keys import MemoryKeyStore

Open: TypeAlias = Callable[[KeyStore], AbstractAsyncContextManager[EventLog]]


class AwayKeys(MemoryKeyStore):
    away = False

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        self._check()
        return await super().ensure(names)

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        self._check()
        return await super().find(names)

    def _check(self) -> None:
        if self.away:
            raise KeysUnavailable("the key store is away")


class RestartedLogContract:
    """Inherit, and give a fixture ``opened``, which opens one and the same log with keys."""

    async def test_everything_is_there_after_a_restart(
        self, opened: Open, keys: MemoryKeyStore
    ) -> None:
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

    async def test_a_tail_read_after_a_restart_has_no_person_who_was_erased(
        self, opened: Open, keys: MemoryKeyStore
    ) -> None:
        found = golden_event("brand.people-found.v1")
        assert isinstance(found, PeopleFound)
        async with opened(keys) as log:
            await log.append([Append("brand-5f0c", NO_STREAM, [found])])
        await keys.destroy([f"{found.lookup}#p1"])

        async with opened(keys) as log:
            (read,) = await log.tail(0)

        assert isinstance(read.event, PeopleFound)
        assert read.event.people[0].full_name == ""

    async def test_newest_events_before_an_erasure_by_another_process_are_read_again(
        self, opened: Open, keys: MemoryKeyStore
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
        self, opened: Open, keys: MemoryKeyStore
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
        self, opened: Open, keys: MemoryKeyStore
    ) -> None:
        async with opened(keys) as log, opened(keys) as other:
            await other.append([Append("key-a", NO_STREAM, units(1))])

            with pytest.raises(WrongExpectedVersion):
                await log.append([Append("key-a", NO_STREAM, units(2))])

            await log.append([Append("key-a", 0, units(2))])
            assert said(await other.read("key-a")) == [1, 2]

    async def test_what_stands_between_one_s_own_events_is_not_skipped(
        self, opened: Open, keys: MemoryKeyStore
    ) -> None:
        async with opened(keys) as log, opened(keys) as other:
            await log.append([Append("key-a", NO_STREAM, units(1, 2))])
            await other.append([Append("key-a", 1, units(3))])
            await log.append([Append("key-a", 2, units(4))])

            assert said(await log.tail(0)) == [1, 2, 3, 4]
            assert said(await log.tail(1, 2)) == [2, 3]
            assert said(await log.tail(3)) == [4]

    async def test_nothing_is_stored_whose_key_could_not_be_made_durable(
        self, opened: Open
    ) -> None:
        checked = golden_event("brand.mailbox-not-verified.v1")
        async with opened(NoRoom()) as log:
            with pytest.raises(OSError, match="no space"):
                await log.append([Append("brand-a", NO_STREAM, [checked])])

            assert await log.head() == 0

    async def test_a_key_store_that_is_away_makes_the_log_unavailable(
        self, opened: Open
    ) -> None:
        keys = AwayKeys()
        found = golden_event("brand.people-found.v1")
        async with opened(keys) as log:
            await log.append([Append("brand-a", NO_STREAM, [found])])
            keys.away = True

            with pytest.raises(LogUnavailable, match="key store is away"):
                await log.append([Append("brand-b", NO_STREAM, [found])])
            with pytest.raises(LogUnavailable, match="key store is away"):
                await log.read("brand-a")

    async def test_a_closed_log_says_that_it_is_unavailable(
        self, opened: Open, keys: MemoryKeyStore
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
        self, opened: Open, keys: MemoryKeyStore
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
