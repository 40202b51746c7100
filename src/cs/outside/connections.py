"""Connections of the HTTP clients, kept in httpcore's pool.

A host that a caller or the web named is resolved, checked and dialled here, in one step: the
address that was checked is the address that is dialled.  TLS and the Host header keep the name,
so certificates are checked against it, and a name that resolves differently the next time (DNS
rebinding) is checked again.  A connection that is kept leads to the address that was checked,
whatever the name resolves to since.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpcore

from cs.outside.guard import Guard, is_literal
from cs.outside.port import Forbidden, Resolver, Unreachable

#: Connections of one client, in use and idle.
CONNECTIONS = 100
#: Connections of one client that may be idle.
IDLE_CONNECTIONS = 40
#: How long one address of a host may take before the next one is tried.
CONNECT_S = 4.0
#: Addresses of one host that are tried.
ADDRESSES = 4
#: Bytes of a head that are read and parsed in one turn of the event loop: at worst 70 heads of
#: informational answers, 4 ms.
_HEAD_BYTES = 2 * 1024
#: Bytes of a body that are read at once: a TLS record.  `read_body` bounds its parts.
_BODY_BYTES = 16 * 1024
#: Bytes of an answer before its body, and of all that comes between and behind its parts.
FRAMING_BYTES = 128 * 1024

#: Returns the addresses at which a host may be dialled, or raises `Forbidden`, `Unreachable`.
Addresses = Callable[[str], Awaitable[Sequence[str]]]


def checked_addresses(guard: Guard, resolver: Resolver) -> Addresses:
    """Return what resolves a host by *resolver* and has *guard* check all its addresses."""

    async def addresses_of(host: str) -> Sequence[str]:
        literal = is_literal(host)
        addresses = (host.strip("[]"),) if literal else await resolver.addresses(host)
        if not addresses:
            raise Unreachable("no-host", host)
        for address in addresses:
            try:
                guard.check(address)
            except Forbidden as error:
                raise Forbidden(f"{host}: {error}") from error
        return addresses

    return addresses_of


class Backend(httpcore.AsyncNetworkBackend):
    """Dials hosts.

    Args:
        addresses: Resolves and checks a host; the operating system resolves it otherwise.
        web_ports: Where port 80 and port 443 are, in this order.
    """

    def __init__(
        self,
        addresses: Addresses | None = None,
        *,
        web_ports: tuple[int, int] = (80, 443),
    ) -> None:
        self._addresses = addresses or _system_addresses
        self._ports = dict(zip((80, 443), web_ports, strict=True))

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of *host* that answers.

        Raises:
            Forbidden: One of its addresses is refused; then none of them is dialled.
            Unreachable: ``no-host``, ``dns``.
            httpcore.ConnectError, httpcore.ConnectTimeout: No address answered.
        """
        del timeout, local_address, socket_options  # no pool here sets one
        last: Exception | None = None
        for address in (await self._addresses(host))[:ADDRESSES]:
            try:
                async with asyncio.timeout(CONNECT_S):
                    return BoundedStream(await _dial(address, self._ports.get(port, port)))
            except TimeoutError as error:
                last = httpcore.ConnectTimeout(str(error))
            except OSError as error:
                last = httpcore.ConnectError(str(error))
        assert last is not None
        raise last

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _system_addresses(host: str) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
    return [str(address[0]) for *_, address in found]


async def _dial(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    dialled = socket.socket(family, socket.SOCK_STREAM)
    try:
        dialled.setblocking(False)
        await asyncio.get_running_loop().sock_connect(dialled, (address, port))
    except BaseException:
        dialled.close()
        raise
    return dialled


class _Reader(asyncio.StreamReader):
    def has_input(self) -> bool:
        unread: bytearray = self._buffer  # type: ignore[attr-defined]  # nothing public tells it
        return bool(unread) or self.at_eof() or self.exception() is not None


class BoundedStream(httpcore.AsyncNetworkStream):
    """A connection that reads `FRAMING_BYTES` after each request, and more as allowed.

    Nothing is read from the socket before it is known whether TLS begins on it, so that no
    byte sent before the handshake can be taken for one sent under TLS.

    Args:
        dialled: The socket, connected.
    """

    def __init__(self, dialled: socket.socket) -> None:
        self._socket = dialled
        self._reader = _Reader(_BODY_BYTES)
        self._writer: asyncio.StreamWriter | None = None
        self._left, self._at_once = FRAMING_BYTES, _HEAD_BYTES

    async def _open(
        self, context: ssl.SSLContext | None = None, server_hostname: str | None = None
    ) -> asyncio.StreamWriter:
        """Begin to read and write, over TLS with a *context*."""
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_connection(
            lambda: asyncio.StreamReaderProtocol(self._reader),
            sock=self._socket,
            ssl=context,
            server_hostname=server_hostname,
        )
        self._writer = asyncio.StreamWriter(transport, protocol, self._reader, loop)
        return self._writer

    def allow_body(self, max_bytes: int) -> None:
        """Read a body of *max_bytes* now that the head has come."""
        self._left, self._at_once = FRAMING_BYTES + max_bytes, _BODY_BYTES

    def has_input(self) -> bool:
        """Return whether bytes, or the end of the connection, wait to be read."""
        return self._reader.has_input()

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> bytes:
        """Return the next bytes.

        Raises:
            Unreachable: ``too-large``.
            httpcore.ReadError: The connection broke.
        """
        del timeout  # the caller limits the whole
        try:
            data = await self._reader.read(min(max_bytes, self._at_once))
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error
        self._left -= len(data)
        if self._left < 0:
            raise Unreachable("too-large", "too many bytes besides the body")
        if len(data) == self._at_once:  # more may be at hand, and let no other task run
            await asyncio.sleep(0)
        return data

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> None:
        del timeout
        self._left, self._at_once = FRAMING_BYTES, _HEAD_BYTES
        try:
            writer = self._writer or await self._open()
            writer.write(buffer)
            await writer.drain()
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        if self._writer is None:
            self._socket.close()
        else:
            self._writer.transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        """Begin TLS with whatever the socket holds; any byte that is not TLS ends it."""
        del timeout
        try:
            await self._open(ssl_context, server_hostname)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return what httpcore asks; ``is_readable`` never: `has_input` tells in time."""
        if info == "ssl_object" and self._writer is not None:
            return self._writer.get_extra_info(info)
        return None


class ConnectionPool(httpcore.AsyncConnectionPool):
    """httpcore's pool, which would read bytes behind an answer as the next answer.

    Args:
        backend: Dials.
        context: Authorities that certificates are checked against.
        idle_s: How long a connection that no request uses is kept.
    """

    def __init__(self, backend: Backend, context: ssl.SSLContext, *, idle_s: float) -> None:
        super().__init__(
            ssl_context=context,
            max_connections=CONNECTIONS,
            max_keepalive_connections=IDLE_CONNECTIONS,
            keepalive_expiry=idle_s,
            network_backend=backend,
        )
        self._options: dict[str, Any] = {
            "ssl_context": context,
            "keepalive_expiry": idle_s,
            "network_backend": backend,
        }

    def create_connection(self, origin: httpcore.Origin) -> httpcore.AsyncConnectionInterface:
        return _Connection(self, origin, **self._options)


class _Connection(httpcore.AsyncHTTPConnection):
    def __init__(
        self, pool: httpcore.AsyncConnectionPool, origin: httpcore.Origin, **options: Any
    ) -> None:
        super().__init__(origin, **options)
        self._pool = pool

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send *request*, unless something has come since the last answer was read.

        Raises:
            httpcore.ConnectionNotAvailable: The pool takes another connection.
        """
        if self._has_input():
            await self.aclose()
            raise httpcore.ConnectionNotAvailable
        return await super().handle_async_request(request)

    def _has_input(self) -> bool:
        http = self._connection
        if not isinstance(http, httpcore.AsyncHTTP11Connection) or not self.is_idle():
            return False
        unread, _ = http._h11_state.trailing_data  # noqa: SLF001 - nothing public tells it
        stream = http._network_stream  # noqa: SLF001
        return bool(unread) or (isinstance(stream, BoundedStream) and stream.has_input())
