"""What every event log does with an event of a newer version: it gives all before it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from contracts.event_log import said, units
from cs.eventlog.errors import NewerEvent
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.sqlite import SqliteEventLog
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from postgres.migrated import migrated
from system.upgrades.newer import TOPIC, Lent, upgraded, write_newer


class Logs(NamedTuple):
    old: EventLog
    new: EventLog  # of another process


@pytest.fixture
async def memory() -> Logs:
    log = MemoryEventLog(MemoryKeyStore())
    return Logs(log, log)


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[Logs]:
    keys, path = MemoryKeyStore(), tmp_path / "log.db"
    async with SqliteEventLog(path, keys) as old, SqliteEventLog(path, keys) as new:
        yield Logs(old, new)


@pytest.fixture
async def postgres_log(database: str) -> AsyncIterator[Logs]:
    keys = MemoryKeyStore()
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(migrated(database))
        old = await stack.enter_async_context(PostgresEventLog(pool, keys))
        yield Logs(old, await stack.enter_async_context(PostgresEventLog(pool, keys)))


class NewerCases:
    """Inherit, and give a fixture ``logs``."""

    async def written(self, logs: Logs) -> None:
        """Write positions 1 to 5; the newer version's is 3, the second of ``key-b``."""
        await logs.old.append([Append("key-a", NO_STREAM, units(1))])
        await logs.old.append([Append("key-b", NO_STREAM, units(2))])
        await write_newer(logs.new, "key-b", 0)
        await logs.new.append([Append("key-b", 1, units(4))])
        await logs.new.append([Append("key-a", 0, units(5))])
        await logs.old.head()

    async def test_the_tail_ends_before_it(self, logs: Logs) -> None:
        await self.written(logs)

        assert said(await logs.old.tail(0)) == [1, 2]
        assert said(await logs.old.tail(1)) == [2]
        assert said(await logs.old.tail(3)) == [4, 5]

    async def test_a_tail_that_would_begin_with_it_says_which_it_is(self, logs: Logs) -> None:
        await self.written(logs)

        with pytest.raises(NewerEvent) as stopped:
            await logs.old.tail(2)

        error = stopped.value
        assert (error.position, error.stream, error.topic) == (3, "key-b", TOPIC)
        assert "position 3" in str(error)
        assert TOPIC in str(error)
        assert "key-b" not in str(error)  # a stream may be named after somebody

    @pytest.mark.parametrize("after", [NO_STREAM, 0])
    async def test_a_stream_with_it_cannot_be_read(self, logs: Logs, after: int) -> None:
        await self.written(logs)

        with pytest.raises(NewerEvent, match="upgrade"):
            await logs.old.read("key-b", after)

    async def test_other_streams_are_read_and_written(self, logs: Logs) -> None:
        await self.written(logs)

        assert said(await logs.old.read("key-a")) == [1, 5]
        await logs.old.append([Append("key-a", 1, units(6))])
        assert said(await logs.old.read("key-a")) == [1, 5, 6]

    async def test_the_version_that_knows_it_reads_all(self, logs: Logs) -> None:
        await self.written(logs)

        with upgraded():
            found = [isinstance(e.event, Lent) for e in await logs.old.tail(0)]
            stream = [isinstance(e.event, Lent) for e in await logs.old.read("key-b")]

        assert found == [False, False, True, False, False]
        assert stream == [False, True, False]


class TestInMemory(NewerCases):
    @pytest.fixture
    def logs(self, memory: Logs) -> Logs:
        return memory


class TestSqlite(NewerCases):
    @pytest.fixture
    def logs(self, sqlite: Logs) -> Logs:
        return sqlite


class TestPostgres(NewerCases):
    @pytest.fixture
    def logs(self, postgres_log: Logs) -> Logs:
        return postgres_log
