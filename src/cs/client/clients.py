"""The two clients, over httpx: ``AsyncClient`` for asyncio, and ``Client``.

`Client` is `AsyncClient` without ``await``: the arguments, values and errors of each method are
documented once, at `AsyncClient` and `AsyncContacts`.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing, closing
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from cs.client.calls import Call, NoReply, Query, Reply
from cs.client.errors import Unauthorized, Unreachable
from cs.client.flows import Flow, Flows, Send, StepResult, WaitFor
from cs.client.limits import Limits
from cs.client.many import AT_ONCE, ManySearches, OnStarted, Outcome
from cs.client.records import Search, Usage
from cs.client.retries import Patience

T = TypeVar("T")

#: Never asked through a proxy that the environment names.
LOCAL_HOSTS = frozenset({"127.0.0.1", "0.0.0.0", "::1", "::", "localhost"})  # noqa: S104
#: Opening a connection; its TLS handshake; waiting for a free one of our own.
CONNECT_S = 10.0
#: More than any answer: a record of 25 people, as many as a service shows, has some 15 KiB.
MAX_BYTES = 4 * 2**20
#: Of an answer that has not come whole within the time-out of its call.
TOO_SLOW = "the answer takes too long"
#: Silence after which TCP probes the connection: a held call is silent for 85 s, and firewalls
#: forget silent connections (contract H13).
KEEPALIVE_S = 20
#: Their names differ by platform.
_KEEPALIVE_OPTIONS = ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL")

_PERMANENT = (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.DecodingError)
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.InvalidURL,
    httpx.UnsupportedProtocol,
)


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
        options = _client_options(base_url, key, httpx.AsyncHTTPTransport)
        self._http = httpx.AsyncClient(**options)
        self._flows = Flows(patience or Patience(), options["base_url"], wall)
        self._runner = _AsyncRunner(self._http, sleep, now)
        self.contacts = AsyncContacts(self._flows, self._runner)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
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
        return await self._runner.run(self._flows.usage())


class AsyncContacts:
    """Searches, as ``client.contacts``.

    Every method raises `cs.client.ClientError`; a search that ended ``failed`` is no error.
    """

    def __init__(self, flows: Flows, runner: "_AsyncRunner") -> None:
        self._flows = flows
        self._runner = runner

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
        return await self._runner.run(self._flows.search(query, timeout_s))

    async def start(
        self,
        brand: str | None = None,
        *,
        domain: str | None = None,
        idempotency_key: str = "",
    ) -> Search:
        """Return the search as it is at once: ended from reuse, or running."""
        return await self._runner.run(self._flows.start(Query(brand, domain, idempotency_key)))

    async def get(self, search: str) -> Search:
        """Read a search again by its id; free."""
        return await self._runner.run(self._flows.get(search))

    async def wait(self, search: Search, *, timeout_s: float | None = None) -> Search:
        """Return how *search* ended; *timeout_s* as for `search`.

        Raises:
            StillRunning: It has not within *timeout_s*.
        """
        return await self._runner.run(self._flows.wait(search, timeout_s))

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

        Raises:
            ValueError: *at_once* is less than 1.
        """
        many = ManySearches(self._flows, queries, at_once, timeout_s, started)
        return self._runner.outcomes(many)


class _AsyncRunner:
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
        try:
            step = next(flow)
            while True:
                step = flow.send(await self.perform(step))
        except StopIteration as end:
            value: T = end.value
            return value

    async def perform(self, step: Send | WaitFor | Outcome) -> StepResult:
        began = self._now()
        reply: Reply | NoReply | None = None
        if isinstance(step, Send):
            reply = await self._send(step.call)
        elif isinstance(step, WaitFor) and step.seconds > 0:
            await self._sleep(step.seconds)
        return StepResult(began, self._now(), reply)

    async def _send(self, call: Call) -> Reply | NoReply:
        try:
            reader = _ReplyReader(call.timeout_s)
            response = await self._http.send(_request(self._http, call), stream=True)
            async with aclosing(response):
                async for part in response.aiter_bytes():
                    reader.add(part)
                return reader.reply(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return _no_reply(error)

    async def outcomes(self, many: ManySearches) -> AsyncIterator[Outcome]:
        with closing(many.outcomes()) as steps:
            step = next(steps, None)
            while step is not None:
                if isinstance(step, Outcome):
                    yield step
                try:
                    step = steps.send(await self.perform(step))
                except StopIteration:
                    return


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
        options = _client_options(base_url, key, httpx.HTTPTransport)
        self._http = httpx.Client(**options)
        self._flows = Flows(patience or Patience(), options["base_url"], wall)
        self._runner = _Runner(self._http, sleep, now)
        self.contacts = Contacts(self._flows, self._runner)

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
        return self._runner.run(self._flows.usage())


class Contacts:
    """Searches, as ``client.contacts``; see `AsyncContacts`."""

    def __init__(self, flows: Flows, runner: "_Runner") -> None:
        self._flows = flows
        self._runner = runner

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
        return self._runner.run(self._flows.search(query, timeout_s))

    def start(
        self,
        brand: str | None = None,
        *,
        domain: str | None = None,
        idempotency_key: str = "",
    ) -> Search:
        """Return the search as it is at once: ended from reuse, or running."""
        return self._runner.run(self._flows.start(Query(brand, domain, idempotency_key)))

    def get(self, search: str) -> Search:
        """Read a search again by its id; free."""
        return self._runner.run(self._flows.get(search))

    def wait(self, search: Search, *, timeout_s: float | None = None) -> Search:
        """Return how *search* ended."""
        return self._runner.run(self._flows.wait(search, timeout_s))

    def search_many(
        self,
        queries: Iterable[Query | str],
        *,
        at_once: int = AT_ONCE,
        timeout_s: float | None = None,
        started: OnStarted | None = None,
    ) -> Iterator[Outcome]:
        """Yield how each of *queries* ended, as they end; none of them raises."""
        many = ManySearches(self._flows, queries, at_once, timeout_s, started)
        return self._runner.outcomes(many)


class _Runner:
    """Runs flows: makes the calls that they yield, and waits."""

    def __init__(
        self,
        http: httpx.Client,
        sleep: Callable[[float], None],
        now: Callable[[], float],
    ) -> None:
        self._http = http
        self._sleep = sleep
        self._now = now

    def run(self, flow: Flow[T]) -> T:
        try:
            step = next(flow)
            while True:
                step = flow.send(self.perform(step))
        except StopIteration as end:
            value: T = end.value
            return value

    def perform(self, step: Send | WaitFor | Outcome) -> StepResult:
        began = self._now()
        reply: Reply | NoReply | None = None
        if isinstance(step, Send):
            reply = self._send(step.call)
        elif isinstance(step, WaitFor) and step.seconds > 0:
            self._sleep(step.seconds)
        return StepResult(began, self._now(), reply)

    def _send(self, call: Call) -> Reply | NoReply:
        try:
            reader = _ReplyReader(call.timeout_s)
            with closing(self._http.send(_request(self._http, call), stream=True)) as response:
                for part in response.iter_bytes():
                    reader.add(part)
                return reader.reply(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return _no_reply(error)

    def outcomes(self, many: ManySearches) -> Iterator[Outcome]:
        with closing(many.outcomes()) as steps:
            step = next(steps, None)
            while step is not None:
                if isinstance(step, Outcome):
                    yield step
                try:
                    step = steps.send(self.perform(step))
                except StopIteration:
                    return


def _client_options(base_url: str, key: str, transport: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of httpx's client for the address *base_url*.

    Raises:
        Unreachable: It is no address, or names a user.
        Unauthorized: No key is like *key*.
    """
    if not (key.isascii() and key.isprintable() and key and " " not in key):
        raise Unauthorized("an API key has only letters, digits and _", code="unauthorized")
    like = "an address looks like http://127.0.0.1:8080/v1"
    url = _url(base_url)
    # Nothing before an @ is ever shown: it may be a password.
    shown = base_url.rpartition("@")[2]
    if not url.host or not base_url.startswith(("http://", "https://")):
        raise Unreachable(f"{shown!r} is no address; {like}", may_pass=False)
    if url.userinfo:
        why = "an address has no user and no password here, the API key is all there is"
        raise Unreachable(f"{shown!r}: {why}; {like}", may_pass=False)
    outside = url.host not in LOCAL_HOSTS
    options: dict[str, Any] = {
        "base_url": base_url.rstrip("/"),
        "headers": {"Authorization": f"Bearer {key}", "User-Agent": "contact-search-client"},
        "trust_env": outside,
    }
    if not (
        outside and {"all", url.scheme} & getproxies().keys() and not proxy_bypass(url.host)
    ):
        # Of its own for TCP keep-alive; httpx asks no proxy next to a transport.
        here = [getattr(socket, name) for name in _KEEPALIVE_OPTIONS if hasattr(socket, name)]
        alive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        alive += [(socket.IPPROTO_TCP, option, KEEPALIVE_S) for option in here]
        options["transport"] = transport(socket_options=alive, trust_env=outside)
    return options


def _url(base_url: str) -> httpx.URL:
    """Return *base_url*, or an empty URL if httpx, urllib or IDNA cannot read it."""
    try:
        urlsplit(base_url)
        url = httpx.URL(base_url)
        url.raw_host.decode("ascii").encode("idna")
        return url if url.host else httpx.URL()
    except (httpx.InvalidURL, ValueError):
        return httpx.URL()


def _request(http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
    """Return *call* as a request of *http*."""
    # Half, as the TLS handshake has as long once more.
    connect_s = min(CONNECT_S, call.timeout_s / 2)
    return http.build_request(
        call.method,
        call.path,
        content=call.body or None,
        headers=call.headers,
        timeout=httpx.Timeout(call.timeout_s, connect=connect_s, pool=CONNECT_S),
    )


class _ReplyReader:
    """Reads an answer while its body comes in, which may be neither endless nor slow.

    httpx bounds the silence between two parts of an answer, not the whole.
    """

    def __init__(self, timeout_s: float) -> None:
        self._until = time.monotonic() + timeout_s
        self._body = bytearray()

    def add(self, part: bytes) -> None:
        """Add *part*.

        Raises:
            httpx.DecodingError: The body is longer than any answer.
            httpx.ReadTimeout: It takes longer than the call has.
        """
        if time.monotonic() > self._until:
            raise httpx.ReadTimeout(TOO_SLOW)
        self._body += part
        if len(self._body) > MAX_BYTES:
            raise httpx.DecodingError(f"the answer is longer than {MAX_BYTES} bytes")

    def reply(self, response: httpx.Response) -> Reply:
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, headers, bytes(self._body))


def _no_reply(error: Exception) -> NoReply:
    """Return what *error* of httpx means; whatever it is, another try makes a new call."""
    why = str(error) or type(error).__name__
    sent = not isinstance(error, _NOT_SENT)
    tls = _tls_error(error)
    if tls is not None and getattr(tls, "reason", None) == "WRONG_VERSION_NUMBER":
        why = "this port answers without TLS; write http:// in the address"
    elif not isinstance(tls, ssl.SSLCertVerificationError):
        return NoReply(why, may_pass=not isinstance(error, _PERMANENT), sent=sent)
    return NoReply(why, may_pass=False, sent=sent)


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    """Return the error of TLS that caused *error*; httpx and httpcore wrap it, and no other."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__ or error.__context__
    return error if isinstance(error, ssl.SSLError) else None
