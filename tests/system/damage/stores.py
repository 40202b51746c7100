"""A service's stores on disk, whose stored bytes can be spoiled and repaired, in both forms."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import httpx

from cs.assembly.plugins import StagePlugins
from cs.domain.codec import AnyEvent
from cs.eventlog.port import EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.sqlite import SqliteEventLog
from cs.operations.operator import NewSecret
from cs.postgres.pool import open_pool
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from cs.runtime.clock import Clock
from harness.in_process import Service, one_process
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated


class Stores(Protocol):
    """What outlives a process; a log that is opened shows what is stored by then."""

    keys: MemoryKeyStore

    def log(self) -> Any:
        """Return the log, for ``async with``."""

    def views(self) -> Any:
        """Return the views, for ``async with``."""

    async def replace(self, position: int, new: bytes) -> bytes:
        """Put *new* in the place of the stored bytes of an event; return those."""


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

    async def replace(self, position: int, new: bytes) -> bytes:
        with closing(sqlite3.connect(self._folder / "log.db")) as database, database:
            (before,) = database.execute(
                "SELECT state FROM stored_events WHERE rowid = ?", (position,)
            ).fetchone()
            database.execute(
                "UPDATE stored_events SET state = ? WHERE rowid = ?", (new, position)
            )
        return bytes(before)


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

    async def replace(self, position: int, new: bytes) -> bytes:
        connection = await asyncpg.connect(self._dsn)
        try:
            before = await connection.fetchval(
                "SELECT state FROM stored_events WHERE notification_id = $1", position
            )
            await connection.execute(
                "UPDATE stored_events SET state = $2 WHERE notification_id = $1", position, new
            )
        finally:
            await connection.close()
        return bytes(before)


@asynccontextmanager
async def opened(stores: Stores) -> AsyncIterator[tuple[EventLog, Views]]:
    """Open log and views as a process that starts now."""
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(stores.log())
        yield log, await stack.enter_async_context(stores.views())


@asynccontextmanager
async def serving(
    stores: Stores, plugins: StagePlugins, clock: Clock | None = None
) -> AsyncIterator[Service]:
    async with (
        opened(stores) as (log, views),
        one_process(log, stores.keys, views, plugins, clock=clock) as service,
    ):
        yield service


async def position_of(log: EventLog, kind: type[AnyEvent]) -> int:
    """Return where the first event of *kind* is."""
    return next(e.position for e in await log.tail(0, 1_000) if isinstance(e.event, kind))


async def read(service: Service, key: NewSecret, search: str) -> httpx.Response:
    async with service.client(key) as client:
        return await client.get(f"/searches/{search}")


def is_damaged(answer: httpx.Response) -> bool:
    return answer.status_code == 500 and "is damaged" in answer.json()["error"]["message"]


async def ended(service: Service, key: NewSecret, search: str) -> dict[str, Any]:
    """Return the record of *search* once it has ended and can be read."""
    async with asyncio.timeout(20):
        while True:
            answer = await read(service, key, search)
            if answer.status_code == 200 and answer.json()["status"] != "running":
                record: dict[str, Any] = answer.json()
                return record
            assert answer.status_code == 200 or is_damaged(answer), answer.text
