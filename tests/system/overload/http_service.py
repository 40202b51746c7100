"""The whole service over real HTTP on loopback, on a log that counts what it is asked."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import httpx
from msgspec.structs import replace

from cs.api.waiting import TimeLimits
from cs.assembly.one_process import RunningService
from cs.bus.port import Bus
from cs.domain.contact import BrandFacts
from cs.eventlog.port import NO_STREAM, Append, Ceiling, EventLog, RecordedEvent
from cs.eventlog.sqlite import BatchRecorder, SqliteEventLog
from cs.eventlog.table_log import PreparedAppend
from cs.http_server.serving import address, listen, serving
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import Clock
from cs.settings import Settings
from harness.in_process import in_memory
from harness.many_calls import ManyCalls
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, ADA, SlowStaff, slow_tools

#: Brands that are known; a live search on any but Acme waits for `SlowStaff.let`.
SLOW = "slow.test"
BRANDS = ("acme", *(f"slow {n}" for n in range(40)))


def known_brands() -> dict[str, BrandFacts]:
    slow = replace(ACME, domain=SLOW)
    return {name: ACME if name == "acme" else slow for name in BRANDS}


class CountingLog(MemoryEventLog):
    """Counts what callers cost; reads of a shut stream wait for `open`.

    Pages are not counted: those are read by who follows the log, a moment after it grew.
    """

    def __init__(self) -> None:
        super().__init__(MemoryKeyStore())
        self.reads: Counter[str] = Counter()
        self.shut: set[str] = set()
        self.open = asyncio.Event()
        self.at_the_door = self.most_at_the_door = 0

    @property
    def total(self) -> int:
        return self.reads.total()

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        self.reads["read"] += 1
        if stream in self.shut:
            self.at_the_door += 1
            self.most_at_the_door = max(self.most_at_the_door, self.at_the_door)
            await self.open.wait()
            self.at_the_door -= 1
        return await super().read(stream, after, limit)

    async def head(self) -> int:
        self.reads["head"] += 1
        return await super().head()

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        self.reads["append"] += 1
        return await super().append(appends, ceiling)

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        self.reads["ceiling"] += 1
        return await super().ceiling_opens_at(ceiling)


class StuckDisk(BatchRecorder):
    """A disk that writes when it is let."""

    let = Event()
    began = Event()

    def write(self, requests: Sequence[PreparedAppend]) -> list[int | Exception]:
        self.began.set()
        assert self.let.wait(20)
        return super().write(requests)


def log_on_a_stuck_disk(file: Path, *, waiting: int) -> SqliteEventLog:
    log = SqliteEventLog(file, MemoryKeyStore(), waiting=waiting)
    log._recorder.__class__ = StuckDisk
    return log


@dataclass
class OverHttp:
    service: RunningService
    operator: Operator
    staff: SlowStaff
    http: httpx.AsyncClient

    async def keys(self, number: int, quota: int = 100) -> list[NewSecret]:
        return [await self.operator.create_key("test", quota) for _ in range(number)]

    async def get(self, key: NewSecret | str | None, path: str = "/usage") -> httpx.Response:
        return await self.http.get(path, headers=bearing(key))

    async def post(self, key: NewSecret, brand: str, *, wait: bool = False) -> httpx.Response:
        body = {"brand": brand, "wait": wait}
        return await self.http.post("/contacts", json=body, headers=bearing(key))

    async def ended(self, answer: httpx.Response) -> dict[str, Any]:
        """Return the usage-free record of the search in *answer* once it has ended."""
        await self.service.reading.until_settled(answer.json()["id"])
        request = answer.request.headers["Authorization"]
        read = await self.get(
            request.removeprefix("Bearer "), f"/searches/{answer.json()['id']}"
        )
        record: dict[str, Any] = read.json()
        return record

    def shorten_bodies(self, body_s: float) -> None:
        self.service.api.time_limits = TimeLimits(body_s=body_s)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when *condition* holds, asking the service for something in between."""
        async with asyncio.timeout(20):
            while not condition():
                await self.http.get("/openapi.json")


def bearing(key: NewSecret | str | None) -> dict[str, str]:
    if key is None:
        return {}
    return {"Authorization": f"Bearer {key if isinstance(key, str) else key.key}"}


ALLOWED = Settings(lookup_deadline_s=60)


@asynccontextmanager
async def over_http(
    log: EventLog | None = None,
    *,
    allowed: Settings = ALLOWED,
    clock: Clock | None = None,
    bus: Bus | None = None,
) -> AsyncIterator[OverHttp]:
    staff = SlowStaff((ADA,), slow=SLOW)
    tools = slow_tools(staff, known_brands())
    with listen("127.0.0.1", 0) as listening:
        async with (
            in_memory(tools, log=log, clock=clock, allowed=allowed, bus=bus) as service,
            serving([(service.running.app, listening)], service.running.api.draining),
            httpx.AsyncClient(
                transport=ManyCalls(),
                base_url=f"{address(listening)}/v1",
                timeout=30,
            ) as http,
        ):
            yield OverHttp(service.running, service.operator, staff, http)
            staff.let.set()
