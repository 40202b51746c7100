"""A service's stores on disk, whose stored bytes can be spoiled and repaired, in both forms."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import httpx

from cs.assembly.plugins import StagePlugins
from cs.domain.codec import AnyEvent
from cs.eventlog.port import EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.sqlite import SqliteEventLog
from cs.operations.operator import NewSecret
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.sqlite import sqlite_views
from cs.runtime.clock import Clock
from harness.in_process import Service, one_process
from harness.memory_keys import MemoryKeyStore
from harness.stores import Stores
from postgres.migrated import migrated


class SqliteStores:
    """What outlives a process; a log that is opened shows what is stored by then."""

    def __init__(self, folder: Path) -> None:
        self.keys = MemoryKeyStore()
        self._folder = folder

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Stores]:
        """Open log and views as a process that starts now."""
        views = sqlite_views(self._folder / "views.db", projections())
        async with SqliteEventLog(self._folder / "log.db", self.keys) as log:
            yield Stores(log=log, keys=self.keys, views=views)
        await views.close()

    async def replace(self, position: int, new: bytes) -> bytes:
        """Put *new* in the place of the stored bytes of an event; return those."""
        where = "WHERE rowid = ?"
        with closing(sqlite3.connect(self._folder / "log.db")) as database, database:
            (before,) = database.execute(
                f"SELECT state FROM stored_events {where}", (position,)
            ).fetchone()
            database.execute(f"UPDATE stored_events SET state = ? {where}", (new, position))
        return bytes(before)


class PostgresStores:
    """The same in a database."""

    def __init__(self, dsn: str) -> None:
        self.keys = MemoryKeyStore()
        self._dsn = dsn

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Stores]:
        async with migrated(self._dsn) as pool, PostgresEventLog(pool, self.keys) as log:
            views = postgres_views(pool, projections())
            yield Stores(log=log, keys=self.keys, views=views)
            await views.close()

    async def replace(self, position: int, new: bytes) -> bytes:
        where = "WHERE notification_id = $1"
        connection = await asyncpg.connect(self._dsn)
        before = await connection.fetchval(f"SELECT state FROM stored_events {where}", position)
        await connection.execute(f"UPDATE stored_events SET state = $2 {where}", position, new)
        await connection.close()
        return bytes(before)


DamagedStores: TypeAlias = SqliteStores | PostgresStores


@asynccontextmanager
async def serving(
    stores: DamagedStores, plugins: StagePlugins, clock: Clock | None = None
) -> AsyncIterator[Service]:
    async with (
        stores.opened() as here,
        one_process(here.log, here.keys, here.views, plugins, clock=clock) as service,
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
