"""A service's stores on disk, whose stored bytes can be spoiled and mended, in both forms."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Protocol

import asyncpg

from cs.domain.codec import AnyEvent
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.sqlite import SqliteEventLog
from cs.postgres.pool import open_pool
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated


class Stores(Protocol):
    """What outlives a process; whoever opens the log finds what is stored by then."""

    keys: MemoryKeyStore

    def log(self) -> Any:
        """Return the log, for ``async with``."""

    def views(self) -> Any:
        """Return the views, for ``async with``."""

    async def state(self, position: int) -> bytes: ...
    async def write(self, position: int, new: bytes) -> None: ...


class SqliteStores:
    def __init__(self, folder: Path) -> None:
        self.keys = MemoryKeyStore()
        self._folder = folder

    def log(self) -> SqliteEventLog:
        return SqliteEventLog(self._folder / "log.db", self.keys)

    @asynccontextmanager
    async def views(self) -> AsyncIterator[Views]:
        views = sqlite_views(self._folder / "views.db", projections())
        yield views
        await views.close()

    async def state(self, position: int) -> bytes:
        return state(self._folder, position)

    async def write(self, position: int, new: bytes) -> None:
        state(self._folder, position, new)


class PostgresStores:
    def __init__(self, dsn: str) -> None:
        self.keys = MemoryKeyStore()
        self._dsn = dsn

    @asynccontextmanager
    async def log(self) -> AsyncIterator[PostgresEventLog]:
        async with migrated(self._dsn) as pool, PostgresEventLog(pool, self.keys) as log:
            yield log

    @asynccontextmanager
    async def views(self) -> AsyncIterator[Views]:
        async with open_pool(self._dsn, role="views") as pool:
            views = postgres_views(pool, projections())
            yield views
            await views.close()

    async def state(self, position: int) -> bytes:
        found = await self._run(
            "SELECT state FROM stored_events WHERE notification_id = $1", position
        )
        return bytes(found[0][0])

    async def write(self, position: int, new: bytes) -> None:
        await self._run(
            "UPDATE stored_events SET state = $2 WHERE notification_id = $1", position, new
        )

    async def _run(self, statement: str, *values: object) -> Sequence[Any]:
        connection = await asyncpg.connect(self._dsn)
        try:
            found: Sequence[Any] = await connection.fetch(statement, *values)
            return found
        finally:
            await connection.close()


def state(folder: Path, position: int, new: bytes | None = None) -> bytes:
    """Return the bytes of an event in a data folder, and put *new* in their place."""
    with closing(sqlite3.connect(folder / "log.db")) as database, database:
        found = database.execute(
            "SELECT state FROM stored_events WHERE rowid = ?", (position,)
        ).fetchone()
        if new is not None:
            database.execute(
                "UPDATE stored_events SET state = ? WHERE rowid = ?", (new, position)
            )
    return bytes(found[0])


async def append(log: EventLog, stream: str, *events: AnyEvent) -> int:
    """Append *events* to *stream*; return the position of the last."""
    version = len(await log.read(stream)) - 1
    return await log.append([Append(stream, version if version >= 0 else NO_STREAM, events)])


@asynccontextmanager
async def opened(stores: Stores) -> AsyncIterator[tuple[EventLog, Views]]:
    """Open log and views as a process that starts now."""
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(stores.log())
        yield log, await stack.enter_async_context(stores.views())
