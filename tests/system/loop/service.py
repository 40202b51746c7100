"""The whole service in one process, and an HTTP client of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx

from cs.assembly.call_answering import ApiTerms
from cs.assembly.one_process import RunningService, memory_bus, run_service
from cs.assembly.plugins import StagePlugins
from cs.assembly.stages import build_stages
from cs.bus.port import Bus
from cs.domain.service import World
from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import EventLog
from cs.keystore.memory import MemoryKeyStore
from cs.keystore.port import KeyStore
from cs.operations.operator import NewSecret, Operator
from cs.projections.catalogue import projections
from cs.projections.port import Views
from cs.projections.sqlite.views import SqliteViews
from cs.runtime.clock import Clock, SystemClock


@dataclass
class Service:
    running: RunningService
    operator: Operator

    async def new_key(self, quota: int = 10) -> NewSecret:
        return await self.operator.create_key("test", quota)

    def client(self, key: NewSecret) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.running.app),
            base_url="http://service.test/v1",
            headers={"Authorization": f"Bearer {key.key}"},
        )

    async def search(self, key: NewSecret, **body: Any) -> httpx.Response:
        async with self.client(key) as client:
            return await client.post("/contacts", json={"wait": True, **body})


@asynccontextmanager
async def one_process(
    log: EventLog,
    keys: KeyStore,
    views: Views,
    tools: StagePlugins,
    *,
    clock: Clock | None = None,
    deadline_s: float = 120,
    ceiling: int | None = None,
    bus: Bus | None = None,
    real: Clock | None = None,
    months: int | None = None,
    world: World = "sandbox",
) -> AsyncIterator[Service]:
    """Run the whole service on these until left; *months*: how long people are kept."""
    clock = clock or SystemClock()
    async with run_service(
        log,
        keys,
        views,
        build_stages(tools),
        bus=bus or memory_bus(),
        clock=clock,
        allowed=ApiTerms(deadline=timedelta(seconds=deadline_s), ceiling=ceiling),
        real=real,
        kept_for_months=months,
    ) as service:
        operator = Operator(service.streams, clock)
        await operator.choose_world(world)
        yield Service(service, operator)


@asynccontextmanager
async def in_memory(
    tools: StagePlugins,
    *,
    deadline_s: float = 120,
    ceiling: int | None = None,
    bus: Bus | None = None,
    clock: Clock | None = None,
    real: Clock | None = None,
    keys: MemoryKeyStore | None = None,
    log: MemoryEventLog | None = None,
) -> AsyncIterator[Service]:
    keys = keys or MemoryKeyStore()
    views = SqliteViews(None, projections())
    try:
        async with one_process(
            log or MemoryEventLog(keys),
            keys,
            views,
            tools,
            clock=clock,
            deadline_s=deadline_s,
            ceiling=ceiling,
            bus=bus,
            real=real,
        ) as service:
            yield service
    finally:
        await views.close()
