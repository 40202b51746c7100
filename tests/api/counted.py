"""A service whose every statement is counted, on a log with one search that has ended."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from cs.api.api import Api
from cs.api.app import build
from cs.assembly.call_answering import ApiTerms, build_api
from cs.checks.memory import MemoryChecks
from cs.checks.port import Checks
from cs.checks.postgres import PostgresChecks
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.sqlite import log as sqlite
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.streams import Streams
from cs.operations.operator import NewSecret, Operator
from cs.postgres.pool import open_pool
from cs.projections.catalogue import projections
from cs.projections.port import Views
from cs.projections.postgres.views import PostgresViews
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.sqlite.views import SqliteViews
from cs.runtime.clock import ManualClock
from domain.acme_run import AT
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated
from projections.history import done

#: The same call is made so often; what the background asks meanwhile meets not all of them.
TIMES = 8


@dataclass
class Statements:
    """What was sent to databases since it was emptied."""

    sent: list[str] = field(default_factory=list)

    async def of(self, call: Callable[[], Any]) -> list[str]:
        """Return the statements of the *call* that sent the fewest."""
        found = []
        for _ in range(TIMES):
            self.sent.clear()
            await call()
            found.append(list(self.sent))
        return min(found, key=len)


@dataclass
class Counted:
    statements: Statements
    operator: Operator
    api: Api
    client: httpx.AsyncClient

    async def new_key(self) -> NewSecret:
        new = await self.operator.create_key("test", 100)
        assert (await self.get(new, "/usage")).status_code == 200
        return new

    async def get(self, key: NewSecret, path: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key.key}"}
        return (await self.client.get(path, headers=headers)).raise_for_status()

    async def search(self, key: NewSecret) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key.key}"}
        answer = await self.client.post("/contacts", json={"brand": "Acme"}, headers=headers)
        record: dict[str, Any] = answer.raise_for_status().json()
        return record


@asynccontextmanager
async def on_sqlite(folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[Counted]:
    statements = Statements()
    connect = sqlite3.connect

    def connected(*args: Any, **named: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*args, **named)
        database.set_trace_callback(statements.sent.append)
        return database

    patch.setattr(sqlite3, "connect", connected)
    patch.setattr(sqlite, "POLL_S", 3600)
    keys = MemoryKeyStore()
    async with SqliteEventLog(folder / "log.db", keys) as log:
        views = SqliteViews(folder / "views.db", projections())
        try:
            async with _answering(statements, log, views, keys, MemoryChecks()) as counted:
                yield counted
        finally:
            await views.close()


@asynccontextmanager
async def on_postgres(dsn: str, patch: pytest.MonkeyPatch) -> AsyncIterator[Counted]:
    statements = Statements()
    connect = asyncpg.connect

    async def connected(*args: Any, **named: Any) -> Any:
        connection = await connect(*args, **named)
        connection.add_query_logger(lambda record: statements.sent.append(record.query))
        return connection

    create_pool = asyncpg.create_pool

    def created(*args: Any, **named: Any) -> Any:
        return create_pool(*args, connect=connected, **named)

    async with migrated(dsn):
        pass
    patch.setattr(asyncpg, "create_pool", created)
    keys = MemoryKeyStore()
    async with open_pool(dsn, role="test") as pool, PostgresEventLog(pool, keys) as log:
        views = PostgresViews(pool, projections())
        try:
            checks = PostgresChecks(pool)
            async with _answering(statements, log, views, keys, checks) as counted:
                yield counted
        finally:
            await views.close()


@asynccontextmanager
async def _answering(
    statements: Statements, log: EventLog, views: Views, keys: MemoryKeyStore, checks: Checks
) -> AsyncIterator[Counted]:
    stream = brand_stream(Query("Acme"))
    await log.append([Append(stream, NO_STREAM, done(stream).events)])
    clock = ManualClock(AT + timedelta(minutes=5))
    streams = Streams(log)
    runner = ViewRunner(log, views, keys, watch_s=3600)
    reading = Reading(log, views, runner, keys)
    allowed = ApiTerms(deadline=timedelta(seconds=120))
    api = await build_api(streams, runner, reading, clock=clock, allowed=allowed, checks=checks)
    async with AsyncExitStack() as stack:
        following = asyncio.create_task(runner.run())

        async def stop() -> None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

        stack.push_async_callback(stop)
        await asyncio.wait_for(runner.reached(await log.head()), 30)
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(build(api)), base_url="http://service.test/v1"
        )
        await stack.enter_async_context(client)
        yield Counted(statements, Operator(streams, clock), api, client)
