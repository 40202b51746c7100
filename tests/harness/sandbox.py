"""A service in a made-up world, in the test's own process, whose clock the test moves on."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import msgspec

from cs.cli.sandbox import SandboxService, sandbox_service
from cs.domain.codec import AnyEvent
from cs.eventlog.follow import follow
from cs.sandbox.world import load


class Sandbox:
    """A service in a world, and what its log says."""

    def __init__(self, running: SandboxService) -> None:
        self.running = running
        self.clock = running.clock

    async def search(self, brand: str) -> None:
        key = (await self.running.operator.create_key("test", 5)).key
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=self.running.base_url) as client:
            answer = await client.post("/contacts", json={"brand": brand}, headers=headers)
        answer.raise_for_status()

    def now(self) -> datetime:
        return self.clock.now()

    async def advance(self, by: timedelta) -> None:
        await self.running.clock_advancer.advance(by)

    async def events(self) -> list[AnyEvent]:
        return [r.event for r in await self.running.service.streams.log.tail(0, 10_000)]

    async def until(self, kind: type[Any], stage: str) -> None:
        """Wait until there is an event of *kind* about *stage*."""
        async with asyncio.timeout(30):
            async for page in follow(self.running.service.streams.log, 0):
                for recorded in page:
                    event = recorded.event
                    if isinstance(event, kind) and event.stage == stage:
                        return


@asynccontextmanager
async def sandbox_of(world: Mapping[str, Any], folder: Path) -> AsyncIterator[Sandbox]:
    """Run a service in *world*, as a file of one has it; the file is made in *folder*."""
    file = folder / "world.json"
    file.write_bytes(msgspec.json.encode(world))
    async with sandbox_service(load(file)) as running:
        yield Sandbox(running)
