"""The whole service in the test's own process, and an HTTP client of it without a port."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

from cs.admin.app import build as admin
from cs.assembly.folder import open_folder
from cs.assembly.one_process import RunningService, memory_bus, run_service
from cs.assembly.plugins import StagePlugins, build_stages
from cs.assembly.process_manager import Stores
from cs.bus.port import Bus
from cs.domain.service import World
from cs.eventlog.port import EventLog
from cs.keystore.port import KeyStore
from cs.metrics.metrics import Metrics
from cs.operations.operator import NewSecret, Operator
from cs.projections.catalogue import projections
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import tools


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

    async def read(self, key: NewSecret, search: str) -> dict[str, Any]:
        """Return *search* as ``GET /searches/{id}`` answers it."""
        async with self.client(key) as client:
            record: dict[str, Any] = (await client.get(f"/searches/{search}")).json()
        return record

    def console(self) -> httpx.AsyncClient:
        """Return a client of the console, on this machine."""
        app = Starlette(routes=[*self.running.console])
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app, client=("127.0.0.1", 5)),
            base_url="http://localhost/console",
        )

    async def readyz(self) -> httpx.Response:
        """Return the answer of ``/readyz`` at the admin port."""
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(admin(self.running.ready)),
            base_url="http://localhost",
        ) as client:
            return await client.get("/readyz")


@asynccontextmanager
async def one_process(
    log: EventLog,
    keys: KeyStore,
    views: Views,
    plugins: StagePlugins,
    *,
    clock: Clock | None = None,
    deadline_s: float = 120,
    ceiling: int | None = None,
    bus: Bus | None = None,
    real: Clock | None = None,
    months: int | None = None,
    world: World = "sandbox",
    allowed: Settings | None = None,
    metrics: Metrics | None = None,
    console: bool = False,
) -> AsyncIterator[Service]:
    """Run the whole service on these until left; *months*: how long people are kept.

    *allowed* is in the place of *deadline_s* and *ceiling*.  With *console* its console, too.
    """
    clock = clock or SystemClock()
    settings = Settings(lookup_deadline_s=deadline_s, lookups_per_day=ceiling)
    async with run_service(
        Stores(log, keys, views),
        build_stages(plugins),
        bus=bus or memory_bus(),
        clock=clock,
        settings=allowed or settings,
        real=real,
        kept_for_months=months,
        metrics=metrics,
        world=world if console else None,
    ) as service:
        operator = Operator(service.streams, clock)
        await operator.choose_world(world)
        yield Service(service, operator)


@asynccontextmanager
async def in_memory(
    plugins: StagePlugins,
    *,
    keys: MemoryKeyStore | None = None,
    log: EventLog | None = None,
    **more: Any,
) -> AsyncIterator[Service]:
    """Run it in memory; *more* as `one_process` takes it."""
    keys = keys or MemoryKeyStore()
    views = sqlite_views(None, projections())
    try:
        log = log or MemoryEventLog(keys)
        async with one_process(log, keys, views, plugins, **more) as service:
            yield service
    finally:
        await views.close()


@asynccontextmanager
async def on_folder(
    folder: Path, plugins: StagePlugins | None = None, metrics: Metrics | None = None
) -> AsyncIterator[Service]:
    """Run it on a data folder, which no other process can serve meanwhile."""
    place, outside = DataFolder(folder), plugins or tools()
    with place.held():
        async with (
            open_folder(place) as data,
            one_process(
                data.log, data.keys, data.views, outside, deadline_s=60, metrics=metrics
            ) as service,
        ):
            yield service
