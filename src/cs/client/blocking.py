"""The client for programs that wait for each answer: ``Client``.

It is `AsyncClient` without ``await``: what each method takes, returns and raises is said there.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
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


class Client:
    """Calls any server of this API.  Use as ``with``, from one thread at a time."""

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        where = wire.checked_address(base_url, key)
        self._flows = new_flows(where, patience, wall)
        self._http = http = httpx.Client(
            **wire.client_options(where, key),
            transport=wire.direct_transport(where, httpx.HTTPTransport),
        )
        self._flow_runner = FlowRunner(http, sleep, now)
        self.contacts = Contacts(self._flows, self._flow_runner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    @property
    def limits(self) -> Limits | None:
        """Return the key's limits as the last answer that named any stated them."""
        return self._flows.limits

    def usage(self) -> Usage:
        """Return quota, used and remaining; free."""
        return self._flow_runner.run(self._flows.usage())


class Contacts:
    """Searches, as ``client.contacts``; see `AsyncContacts`."""

    def __init__(self, flows: Flows, flow_runner: "FlowRunner") -> None:
        self._flows = flows
        self._flow_runner = flow_runner

    def search(
        self,
        brand: str | None = None,
        *,
        domain: str | None = None,
        idempotency_key: str = "",
        timeout_s: float | None = None,
    ) -> Search:
        """Search and return how it ended."""
        query = Query(brand, domain, idempotency_key)
        return self._flow_runner.run(self._flows.search(query, timeout_s))

    def start(
        self,
        brand: str | None = None,
        *,
        domain: str | None = None,
        idempotency_key: str = "",
    ) -> Search:
        """Return the search as it is at once: ended from reuse, or running."""
        return self._flow_runner.run(self._flows.start(Query(brand, domain, idempotency_key)))

    def get(self, search: str) -> Search:
        """Read a search again by its id; free."""
        return self._flow_runner.run(self._flows.get(search))

    def wait(self, search: Search, *, timeout_s: float | None = None) -> Search:
        """Return how *search* ended."""
        return self._flow_runner.run(self._flows.wait(search, timeout_s))

    def search_many(
        self,
        queries: Iterable[Query | str],
        *,
        at_once: int = AT_ONCE,
        timeout_s: float | None = None,
        started: OnStarted | None = None,
    ) -> Iterator[Outcome]:
        """Yield how each of *queries* ended, as they end; none of them raises."""
        many = ManySearches(
            self._flows, queries, at_once=at_once, timeout_s=timeout_s, started=started
        )
        return self._outcomes(many)

    def _outcomes(self, many: ManySearches) -> Iterator[Outcome]:
        with closing(many.outcomes()) as steps:
            step = next(steps, None)
            while step is not None:
                if isinstance(step, Outcome):
                    yield step
                try:
                    step = steps.send(self._flow_runner.perform(step))
                except StopIteration:
                    return


class FlowRunner:
    """Runs flows: makes the calls that they yield, and waits."""

    def __init__(
        self, http: httpx.Client, sleep: Callable[[float], None], now: Callable[[], float]
    ) -> None:
        self._http = http
        self._sleep = sleep
        self._now = now

    def run(self, flow: Flow[T]) -> T:
        """Run *flow* to its end and return its value."""
        try:
            step = next(flow)
            while True:
                step = flow.send(self.perform(step))
        except StopIteration as end:
            value: T = end.value
            return value

    def perform(self, step: Send | WaitFor | Announce | Outcome) -> StepResult:
        began = self._now()
        reply: Reply | NoReply | None = None
        match step:
            case Send(call):
                reply = self._send(call)
            case WaitFor(seconds) if seconds > 0:
                self._sleep(seconds)
            case _:
                pass
        return StepResult(began, self._now(), reply)

    def _send(self, call: Call) -> Reply | NoReply:
        try:
            reader = wire.ReplyReader(call.timeout_s)
            with closing(self._http.send(wire.request(self._http, call), stream=True)) as found:
                for part in found.iter_bytes():
                    reader.add(part)
                return reader.reply(found)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return wire.no_reply(error)
