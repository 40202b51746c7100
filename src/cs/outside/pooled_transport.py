"""Requests over connections that are kept a while, of which there are only so many.

httpcore's pool looks at every connection at every request and answer, and once too often at
the idle ones (8,600 times a search with 16 searches at once); this looks at those that are
idle.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from typing import NamedTuple

import httpcore
import httpx

from cs.outside.http_connection import HttpConnection

#: Connections of one client, in use and idle.
CONNECTIONS = 100
#: Of them idle ones; for another one that gets idle the oldest is closed.
IDLE_CONNECTIONS = 40

_PORTS = {b"http": 80, b"https": 443}


class _Origin(NamedTuple):
    scheme: bytes
    host: bytes
    port: int


class _Idle(NamedTuple):
    origin: _Origin
    connection: HttpConnection
    until: float


class PooledTransport(httpx.AsyncBaseTransport):
    """Sends requests over connections dialled through *backend*.

    Args:
        idle_s: How long a connection that nobody uses is kept.
    """

    def __init__(
        self, backend: httpcore.AsyncNetworkBackend, context: ssl.SSLContext, *, idle_s: float
    ) -> None:
        context.set_alpn_protocols(["http/1.1"])
        self._backend = backend
        self._context = context
        self._idle_s = idle_s
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self._idle: list[_Idle] = []  # the oldest first
        self._open: set[HttpConnection] = set()
        self._dialling = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send *request*; its connection is kept or closed once the answer is.

        Raises:
            httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError,
            httpcore.UnsupportedProtocol: There is no answer.
        """
        origin = _origin(request.url)
        timeouts = request.extensions["timeout"]
        await self._acquire_slot(timeouts["pool"])
        try:
            connection = await self._kept(origin)
            if connection is None:
                connection = await self._dialled(origin, timeouts["connect"])
            try:
                answer = await connection.send(request)
            except BaseException:
                await self._close(connection)
                raise
        except BaseException:
            self._slots.release()
            raise
        return httpx.Response(
            status_code=answer.status_code,
            headers=answer.headers.raw_items(),
            stream=_Body(self, origin, connection, timeouts["read"]),
        )

    async def aclose(self) -> None:
        self._idle.clear()
        for connection in tuple(self._open):
            await self._close(connection)

    async def give_back(self, origin: _Origin, connection: HttpConnection) -> None:
        """Keep *connection*, whose answer nobody reads any further, or close it."""
        try:
            if connection in self._open and connection.may_be_reused():
                self._idle.append(_Idle(origin, connection, time.monotonic() + self._idle_s))
                if len(self._idle) > IDLE_CONNECTIONS:
                    await self._close(self._idle.pop(0).connection)
            else:
                await self._close(connection)
        finally:
            self._slots.release()

    async def _acquire_slot(self, timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await self._slots.acquire()
        except TimeoutError as error:
            raise httpcore.PoolTimeout("no connection got free in time") from error

    async def _kept(self, origin: _Origin) -> HttpConnection | None:
        """Return the last one of *origin* that got idle and is still good; close the bad."""
        now, found = time.monotonic(), None
        good, bad = list[_Idle](), list[_Idle]()
        for idle in self._idle:
            ended = now >= idle.until or idle.connection.has_ended()
            (bad if ended else good).append(idle)
        for place in reversed(range(len(good))):
            if good[place].origin == origin:
                found = good.pop(place).connection
                break
        self._idle = good  # before anything is waited for: nobody else is given it
        try:
            for idle in bad:
                await self._close(idle.connection)
        except BaseException:
            if found is not None:
                await self._close(found)
            raise
        return found

    async def _dialled(self, origin: _Origin, timeout_s: float | None) -> HttpConnection:
        self._dialling += 1
        try:
            while self._idle and len(self._open) + self._dialling > CONNECTIONS:
                await self._close(self._idle.pop(0).connection)
            host = origin.host.decode("ascii")
            stream = await self._backend.connect_tcp(host, origin.port, timeout=timeout_s)
            if origin.scheme == b"https":
                stream = await stream.start_tls(
                    self._context, server_hostname=host, timeout=timeout_s
                )
            connection = HttpConnection(stream)
            self._open.add(connection)
            return connection
        finally:
            self._dialling -= 1

    async def _close(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        await connection.aclose()


class _Body(httpx.AsyncByteStream):
    """The body of an answer; once closed, its connection is given back."""

    def __init__(
        self,
        pool: PooledTransport,
        origin: _Origin,
        connection: HttpConnection,
        timeout_s: float | None,
    ) -> None:
        self._pool = pool
        self._origin = origin
        self._connection = connection
        self._timeout_s = timeout_s
        self._closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._connection.body(self._timeout_s)

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            await self._pool.give_back(self._origin, self._connection)


def _origin(url: httpx.URL) -> _Origin:
    scheme = url.raw_scheme
    if scheme not in _PORTS:
        raise httpcore.UnsupportedProtocol(f"not a protocol of the web: {url.scheme}")
    return _Origin(scheme, url.raw_host, url.port or _PORTS[scheme])
