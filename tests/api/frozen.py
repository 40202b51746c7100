"""API nodes on one log that hear of nothing after their start: their tail stands still."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from cs.api.api import Api
from cs.api.app import Gate
from cs.api.waiting import KeyLimiter
from cs.assembly.call_answering import build_api
from cs.checks.checks import Checks, MemoryChecks
from cs.checks.postgres import PostgresChecks
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.sqlite import SqliteEventLog
from cs.eventlog.streams import Streams
from cs.operations.operator import NewSecret, Operator
from cs.postgres.pool import open_pool
from cs.projections.catalogue import projections
from cs.projections.following import Follower, ViewFollower
from cs.projections.postgres import postgres_views
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from cs.settings import Settings
from domain.acme_run import AT
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated
from projections.history import done

ALLOWED = Settings(lookup_deadline_s=120)


@dataclass
class Node:
    """One that answers calls; nobody runs what follows the log for it."""

    api: Api
    gate: Gate
    client: httpx.AsyncClient

    def fill_the_line(self) -> None:
        """Let no call through, and none wait."""
        self.api.read_limiter = self.api.search_limiter = KeyLimiter(0, 0)

    async def call(self, secret: str, method: str, path: str, **sent: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {secret}"} | sent.pop("headers", {})
        return await self.client.request(method, path, headers=headers, **sent)


@dataclass
class Frozen:
    """A log with the brand Acme on it, searched before, and the nodes once they started."""

    log: EventLog
    operator: Operator
    clock: ManualClock
    open_node: Callable[[], Any]
    stack: AsyncExitStack
    nodes: list[Node] = field(default_factory=list)

    async def new_key(self) -> NewSecret:
        return await self.operator.create_key("test", 100)

    async def start(self, number: int) -> None:
        for _ in range(number):
            self.nodes.append(await self.stack.enter_async_context(self.open_node()))


@asynccontextmanager
async def on_sqlite(folder: Path) -> AsyncIterator[Frozen]:
    keys = MemoryKeyStore()
    async with AsyncExitStack() as stack:
        log = await stack.enter_async_context(SqliteEventLog(folder / "log.db", keys))
        views = sqlite_views(folder / "views.db", projections())
        stack.push_async_callback(views.close)
        clock = ManualClock(AT + timedelta(minutes=5))

        @asynccontextmanager
        async def node() -> AsyncIterator[Node]:
            runner = ViewRunner(log, views, keys)
            async with _node(
                log, views, keys, runner, clock=clock, checks=MemoryChecks()
            ) as made:
                yield made

        yield await _with_acme(log, clock, node, stack)


@asynccontextmanager
async def on_postgres(dsn: str) -> AsyncIterator[Frozen]:
    keys = MemoryKeyStore()
    async with migrated(dsn), AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_pool(dsn, role="operator"))
        log = await stack.enter_async_context(PostgresEventLog(pool, keys))
        views = postgres_views(pool, projections())
        stack.push_async_callback(views.close)
        clock = ManualClock(AT + timedelta(minutes=5))

        @asynccontextmanager
        async def node() -> AsyncIterator[Node]:
            await ViewRunner(log, views, keys).catch_up()
            async with AsyncExitStack() as own:
                pool = await own.enter_async_context(open_pool(dsn, role="api"))
                events = await own.enter_async_context(PostgresEventLog(pool, keys))
                read = postgres_views(pool, projections())
                own.push_async_callback(read.close)
                follower = ViewFollower(events, read)
                checks = PostgresChecks(pool)
                async with _node(
                    events, read, keys, follower, clock=clock, checks=checks
                ) as made:
                    yield made

        yield await _with_acme(log, clock, node, stack)


async def _with_acme(
    log: EventLog, clock: ManualClock, node: Callable[[], Any], stack: AsyncExitStack
) -> Frozen:
    stream = brand_stream(Query("Acme"))
    await log.append([Append(stream, NO_STREAM, done(stream).events)])
    return Frozen(log, Operator(Streams(log), clock), clock, node, stack)


@asynccontextmanager
async def _node(
    log: EventLog,
    views: Views,
    keys: MemoryKeyStore,
    followed: Follower,
    *,
    clock: ManualClock,
    checks: Checks,
) -> AsyncIterator[Node]:
    reading = Reading(log, views, followed, keys)
    api = await build_api(
        Streams(log),
        followed,
        reading,
        clock=clock,
        settings=ALLOWED,
        checks=checks,
    )
    gate = Gate(api)
    transport = httpx.ASGITransport(gate)
    async with httpx.AsyncClient(transport=transport, base_url="http://node.test/v1") as client:
        yield Node(api, gate, client)
