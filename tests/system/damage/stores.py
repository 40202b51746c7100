"""A service's stores on disk, whose stored bytes can be spoiled and repaired, in both forms."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from cs.assembly.plugins import StagePlugins
from cs.domain.codec import AnyEvent
from cs.eventlog.port import EventLog
from cs.operations.operator import NewSecret
from cs.runtime.clock import Clock
from harness.in_process import Service, one_process
from harness.memory_keys import MemoryKeyStore
from harness.places import Place, log_in, sql, views_in
from harness.stores import Stores


@dataclass(frozen=True)
class DamagedStores:
    """What outlives a process; a log that is opened shows what is stored by then."""

    place: Place
    keys: MemoryKeyStore = field(default_factory=MemoryKeyStore)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Stores]:
        """Open log and views as a process that starts now."""
        views = views_in(self.place)
        async with log_in(self.place, self.keys) as log:
            yield Stores(log=log, keys=self.keys, views=views)
        await views.close()

    async def replace(self, position: int, new: bytes) -> bytes:
        """Put *new* in the place of the stored bytes of an event; return those."""
        column = "rowid" if isinstance(self.place, Path) else "notification_id"
        at = f"stored_events WHERE {column} = $1"
        ((before,),) = await sql(self.place, "log.db", f"SELECT state FROM {at}", position)
        change = f"UPDATE stored_events SET state = $2 WHERE {column} = $1"
        await sql(self.place, "log.db", change, position, new)
        return bytes(before)


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
