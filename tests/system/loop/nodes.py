"""Two API nodes on one log, on which no stage runs."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx

from cs.assembly.one_process import memory_bus, run_service
from cs.assembly.process_manager import Stores
from cs.eventlog.audit import Audit
from cs.eventlog.port import RecordedEvent
from cs.eventlog.sqlite import SqliteEventLog
from cs.operations.operator import NewSecret, Operator
from cs.projections.catalogue import projections
from cs.projections.sqlite import sqlite_views
from cs.runtime.clock import SystemClock
from cs.settings import Settings
from harness.in_process import Service
from harness.memory_keys import MemoryKeyStore


class Nodes:
    """Two API nodes on one log, and what they answered."""

    def __init__(self, path: Path) -> None:
        self._path, self._keys = path, MemoryKeyStore()
        self._services: list[Service] = []

    @asynccontextmanager
    async def running(self, ceiling: int | None) -> AsyncIterator["Nodes"]:
        async with AsyncExitStack() as stack:
            for _ in range(2):
                views = sqlite_views(None, projections())
                stack.push_async_callback(views.close)
                log = await stack.enter_async_context(self._log())
                running = await stack.enter_async_context(
                    run_service(
                        Stores(log, self._keys, views),
                        [],
                        bus=memory_bus(),
                        clock=SystemClock(),
                        settings=Settings(lookup_deadline_s=3600, lookups_per_day=ceiling),
                    )
                )
                operator = Operator(running.streams, SystemClock())
                self._services.append(Service(running, operator))
            yield self

    def _log(self) -> SqliteEventLog:
        return SqliteEventLog(self._path, self._keys)

    async def keys(self, number: int, quota: int = 100) -> list[NewSecret]:
        """Create keys, known to every node on return."""
        made = [await self._services[0].new_key(quota) for _ in range(number)]
        for service in self._services:
            while len(await service.running.reading.keys()) < number:
                pass  # each look waits for the views
        return made

    async def ask(
        self, asked: Iterable[tuple[NewSecret, str]], headers: Mapping[str, str]
    ) -> list[httpx.Response]:
        """Ask for each brand with its key, all at once, by turns at each node."""
        nodes = cycle(self._services)

        async def one(service: Service, key: NewSecret, brand: str) -> httpx.Response:
            async with service.client(key) as client:
                return await client.post("/contacts", json={"brand": brand}, headers=headers)

        return await asyncio.gather(*(one(next(nodes), *each) for each in asked))

    async def events(self, *kinds: type[Any]) -> list[RecordedEvent]:
        """Return the events of *kinds*; all of the log has to keep every promise."""
        audit, found = Audit(), list[RecordedEvent]()
        async with self._log() as log:  # each node's own hears late of the other's appends
            while page := await log.tail(audit.events):
                for recorded in page:
                    assert list(audit.check(recorded)) == []
                    found += [recorded] if isinstance(recorded.event, kinds) else []
        return found
