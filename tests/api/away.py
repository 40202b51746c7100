"""A service in memory whose log, views and checks can fail, in a world that a test chooses."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import httpx

from cs.api.keys import Keys
from cs.api.waiting import TIME_LIMITS, KeyLimiter, TimeLimits
from cs.assembly.plugins import StagePlugins
from cs.checks.checks import Check, MemoryChecks
from cs.domain.api_key import hash_key
from cs.domain.key import SearchAdmitted
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    Ceiling,
    EventLog,
    EventNeeds,
    LogUnavailable,
    RecordedEvent,
)
from cs.eventlog.streams import Streams
from cs.operations.operator import NewSecret, Operator
from cs.postgres.pool import Pool
from cs.projections.catalogue import projections
from cs.projections.sqlite import SqliteViewDatabase
from cs.projections.table import SealBody, Table
from cs.projections.views import Views
from cs.runtime.clock import SystemClock
from harness.in_process import Service, one_process
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.on_port import port_of
from harness.outside import tools
from harness.places import log_in

#: How something is while it is away: it says so, it says nothing, or it does once what
#: nobody foresaw.
How = Literal["fails", "hangs", "breaks"]
#: When the log goes away, seen from the append of the next admission.
When = Literal["before", "stored", "answered"]

#: Short, since these tests wait it out.
SHORT = TimeLimits(wait_s=1.0, admit_s=1.0, answer_s=0.7, read_s=0.7)
#: So long that no call that waits for it is answered in these tests.
LONG = TimeLimits(wait_s=60, admit_s=60, answer_s=60, read_s=60)
#: The header of a search that may be asked for again.
IDEMPOTENT = {"Idempotency-Key": "once"}


class AwayLog(MemoryEventLog):
    """A log that `go` takes away and `come` brings back."""

    def __init__(self, keys: MemoryKeyStore) -> None:
        super().__init__(keys)
        self._how: How | None = None
        self._back = asyncio.Event()
        self._next: tuple[When, How, bool] | None = None
        self._readable = False

    def go(self, how: How, *, readable: bool = False) -> None:
        self._how, self._readable = how, readable
        self._back.clear()

    def go_at_admission(self, when: When, how: How, *, readable: bool = False) -> None:
        self._next = (when, how, readable)

    def come(self) -> None:
        self._how = None
        self._back.set()

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        admits = any(isinstance(e, SearchAdmitted) for each in appends for e in each.events)
        planned, self._next = (self._next, None) if admits else (None, self._next)
        if planned is not None and planned[0] == "before":
            self.go(planned[1], readable=planned[2])
        await self._there()
        position = await super().append(appends, ceiling)
        if planned is not None and planned[0] != "before":
            self.go(planned[1], readable=planned[2])
            if planned[0] == "stored":
                await self._there()
        return position

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        if not self._readable:
            await self._there()
        return await super().read(stream, after, limit)

    async def tail(
        self, after: int, limit: int = 500, wanted: EventNeeds | None = None
    ) -> Sequence[RecordedEvent]:
        await self._there()
        return await super().tail(after, limit, wanted)

    async def head(self) -> int:
        await self._there()
        return await super().head()

    async def _there(self) -> None:
        if self._how == "fails":
            raise LogUnavailable("the disk went away")
        if self._how == "breaks":
            self.come()
            raise ZeroDivisionError("nobody foresaw this")
        if self._how == "hangs":
            await self._back.wait()


class AwayViews(Views):
    """Views whose file another process can lock."""

    def __init__(self) -> None:
        super().__init__(SqliteViewDatabase(None), projections())
        self.locked = False

    async def apply(
        self, page: Sequence[RecordedEvent], seal: SealBody, epoch: int | None = None
    ) -> int:
        self._check()
        return await super().apply(page, seal, epoch)

    async def get(self, table: Table[Any], row_id: str, since: int = 0) -> Any:
        self._check()
        return await super().get(table, row_id, since)

    async def get_at(self, table: Table[Any], row_id: str) -> Any:
        self._check()
        return await super().get_at(table, row_id)

    def _check(self) -> None:
        if self.locked:
            raise LogUnavailable("the views cannot be used: database is locked")


class Mistaken(MemoryChecks):
    """Counts checks with a mistake in it."""

    async def count(self, key_id: str, at: datetime) -> Check:
        raise RuntimeError(f"{key_id} at {at}")


@dataclass
class Fragile(Service):
    log: AwayLog
    views: AwayViews
    key: NewSecret
    other_log: EventLog  # as another process has it open

    async def call(
        self, method: str, path: str, *, secret: str | None = None, **sent: Any
    ) -> httpx.Response:
        """Call with the key, or with another *secret*; a bug is an answer."""
        headers = {
            "Authorization": f"Bearer {secret or self.key.key}",
            **sent.pop("headers", {}),
        }
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(self.running.app, raise_app_exceptions=False),
            base_url="http://service.test/v1",
        ) as client:
            return await client.request(method, path, headers=headers, **sent)

    async def called(
        self, key: NewSecret, method: str, path: str, *, patient: bool = False, **sent: Any
    ) -> httpx.Response:
        """Call with every wait short, if not *patient*; one that is not answered fails."""
        self.running.api.time_limits = TIME_LIMITS if patient else SHORT
        self.running.api.hold = timedelta(seconds=0.1)
        async with asyncio.timeout(20), self.client(key) as client:
            return await client.request(method, path, **sent)

    async def posted(
        self, key: NewSecret, *, once: bool = True, patient: bool = False, **body: Any
    ) -> httpx.Response:
        """Search for Acme, *once* with an idempotency key."""
        headers, body = IDEMPOTENT if once else {}, {"brand": "Acme", **body}
        return await self.called(
            key, "POST", "/contacts", patient=patient, json=body, headers=headers
        )

    async def ended(self, key: NewSecret, search: str) -> dict[str, Any]:
        async with asyncio.timeout(20):
            await self.running.reading.until_settled(search)
        read = await self.called(key, "GET", f"/searches/{search}")
        record: dict[str, Any] = read.json()
        return record

    @asynccontextmanager
    async def on_port(self, key: NewSecret) -> AsyncIterator[httpx.AsyncClient]:
        """Serve it, with long waits, until left; the client of *key* stays."""
        self.running.api.time_limits = LONG
        async with (
            httpx.AsyncClient(
                headers={"Authorization": f"Bearer {key.key}"}, timeout=30, trust_env=False
            ) as client,
            port_of(self.running.app, self.running.api.draining) as port,
        ):
            client.base_url = httpx.URL(f"{port.url}/v1")
            yield client

    @property
    def elsewhere(self) -> Operator:
        """An operator in another process."""
        return Operator(Streams(self.other_log), SystemClock())

    def believe(self, key: NewSecret) -> None:
        """Know nothing newer than that the secret of *key* opens it."""
        keys, secret = self.running.api.keys, hash_key(key.key)
        keys._shut.pop(secret, None)
        keys.remember(key.id, secret)

    def fill_the_line(self) -> None:
        """Let no call through, and none wait."""
        api = self.running.api
        api.read_limiter = api.search_limiter = KeyLimiter(0, 0)

    def mistake_checks(self) -> None:
        self.running.api.checks = Mistaken()

    def break_look_up_of_keys(self) -> None:
        async def breaks(secrets: AbstractSet[str]) -> dict[str, str]:
            raise ZeroDivisionError(f"nobody foresaw {len(secrets)}")

        self.running.api.keys = Keys(self.running.streams, breaks, breaks, SystemClock().now)

    async def admissions(self) -> int:
        page = await self.log.tail(0)
        return sum(isinstance(recorded.event, SearchAdmitted) for recorded in page)


@asynccontextmanager
async def fragile(
    world: StagePlugins | None = None,
    *,
    quota: int = 10,
    deadline_s: float = 120,
    database: Pool | None = None,
) -> AsyncIterator[Fragile]:
    """Run a service in *world* with a key of *quota*; on *database*, its log stays."""
    keys, views = MemoryKeyStore(), AwayViews()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(views.close)
        log: Any = AwayLog(keys)
        other: EventLog = log
        if database is not None:
            log = await stack.enter_async_context(log_in(database, keys))
            other = await stack.enter_async_context(log_in(database, keys))
        service = await stack.enter_async_context(
            one_process(log, keys, views, world or tools(), deadline_s=deadline_s)
        )
        key = await service.new_key(quota)
        yield Fragile(service.running, service.operator, log, views, key, other)
