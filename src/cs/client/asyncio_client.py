"""The client for asyncio: ``AsyncClient``."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, closing
from types import TracebackType
from typing import Self, TypeVar

import httpx

from cs.client import wire
from cs.client.answers import NoReply, Reply
from cs.client.api import Call, Query
from cs.client.flows import Announce, Flow, Flows, Send, StepResult, WaitFor, new_flows
from cs.client.limits import Limits
from cs.client.many import AT_ONCE, ManySearches, OnStarted, Outcome
from cs.client.records import Search, Usage
from cs.client.retries import Patience

T = TypeVar("T")


class AsyncClient:
    """Calls any server of this API.  Use as ``async with``, in one event loop.

    Args:
        base_url: With the version: ``http://127.0.0.1:8080/v1``.
        key: The API key.
        patience: How long a call that failed is tried again.
        sleep: Lets seconds go by.
        now: A monotonic clock in seconds, which *sleep* goes by.
        wall: The time of day in seconds, which goes on while the machine is suspended.

    Raises:
        Unreachable: *base_url* is no address, or names a user.
        Unauthorized: *key* has characters that no key has.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        patience: Patience | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        where = wire.checked_address(base_url, key)
        self._flows = new_flows(where, patience, wall)
        self._http = http = httpx.AsyncClient(
            **wire.client_options(where, key),
            transport=wire.direct_transport(where, httpx.AsyncHTTPTransport),
        )
        self._flow_runner = AsyncFlowRunner(http, sleep, now)
        self.contacts = AsyncContacts(self._flows, self._flow_runner)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    @property
    def limits(self) -> Limits | None:
        """Return the key's limits as the last answer that named any stated them."""
        return self._flows.limits

    async def usage(self) -> Usage:
        """Return quota, used and remaining; free.

        Raises:
            ClientError: As every call.
        """
        return await self._flow_runner.run(self._flows.usage())


class AsyncContacts:
    """Searches, as ``client.contacts``.

    Every method raises `cs.client.ClientError`; a search that ended ``failed`` is no error.
    """

    def __init__(self, flows: Flows, flow_runner: "AsyncFlowRunner") -> None:
        self._flows = flows
        self._flow_runner = flow_runner

    async def search(
        self,
        brand: str | None = None,
        *,
        domain: str | None = None,
        idempotency_key: str = "",
        timeout_s: float | None = None,
    ) -> Search:
        """Search and return how it ended.

        Args:
            brand: The name people actually say.
            domain: Its web site; at least one of the two is needed.
            idempotency_key: As of `Query`.
            timeout_s: Bounds it all.  Unless given it is 300 s, and waits for a limit or an
                unwell server do not count: those are bounded by patience alone.

        Raises:
            StillRunning: It has not within *timeout_s*.
        """
        query = Query(brand, domain, idempotency_key)
        return await self._flow_runner.run(self._flows.search(query, timeout_s))

    async def start(
        self,
        brand: str | None = None,
        *,
        domain: str | None = None,
        idempotency_key: str = "",
    ) -> Search:
        """Return the search as it is at once: ended from reuse, or running."""
        query = Query(brand, domain, idempotency_key)
        return await self._flow_runner.run(self._flows.start(query))

    async def get(self, search: str) -> Search:
        """Read a search again by its id; free."""
        return await self._flow_runner.run(self._flows.get(search))

    async def wait(self, search: Search, *, timeout_s: float | None = None) -> Search:
        """Return how *search* ended; *timeout_s* as for `search`.

        Raises:
            StillRunning: It has not within *timeout_s*.
        """
        return await self._flow_runner.run(self._flows.wait(search, timeout_s))

    def search_many(
        self,
        queries: Iterable[Query | str],
        *,
        at_once: int = AT_ONCE,
        timeout_s: float | None = None,
        started: OnStarted | None = None,
    ) -> AsyncIterator[Outcome]:
        """Yield how each of *queries* ended, as they end; none of them raises.

        One that cannot be sent ends with `Unsendable`.

        Args:
            queries: A string is a brand.  Each is taken when its turn has come.
            at_once: How many may run.
            timeout_s: For one query, from its first call on; as for `search`.
            started: Called with each search that runs, as soon as its id is known.
        """
        many = ManySearches(
            self._flows, queries, at_once=at_once, timeout_s=timeout_s, started=started
        )
        return self._outcomes(many)

    async def _outcomes(self, many: ManySearches) -> AsyncIterator[Outcome]:
        with closing(many.outcomes()) as steps:
            step = next(steps, None)
            while step is not None:
                if isinstance(step, Outcome):
                    yield step
                try:
                    step = steps.send(await self._flow_runner.perform(step))
                except StopIteration:
                    return


class AsyncFlowRunner:
    """Runs flows: makes the calls that they yield, and waits."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        sleep: Callable[[float], Awaitable[None]],
        now: Callable[[], float],
    ) -> None:
        self._http = http
        self._sleep = sleep
        self._now = now

    async def run(self, flow: Flow[T]) -> T:
        """Run *flow* to its end and return its value."""
        try:
            step = next(flow)
            while True:
                step = flow.send(await self.perform(step))
        except StopIteration as end:
            value: T = end.value
            return value

    async def perform(self, step: Send | WaitFor | Announce | Outcome) -> StepResult:
        began = self._now()
        reply: Reply | NoReply | None = None
        match step:
            case Send(call):
                reply = await self._send(call)
            case WaitFor(seconds) if seconds > 0:
                await self._sleep(seconds)
            case _:
                pass
        return StepResult(began, self._now(), reply)

    async def _send(self, call: Call) -> Reply | NoReply:
        try:
            reader = wire.ReplyReader(call.timeout_s)
            response = await self._http.send(wire.request(self._http, call), stream=True)
            async with aclosing(response):
                async for part in response.aiter_bytes():
                    reader.add(part)
                return reader.reply(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return wire.no_reply(error)
