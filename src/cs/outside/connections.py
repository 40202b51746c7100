"""Connections of the HTTP clients, kept in httpcore's pool.

A host that a caller or the web named is resolved, checked and dialled here, in one step: the
address that was checked is the address that is dialled.  TLS and the Host header keep the name,
so certificates are checked against it, and a name that resolves differently the next time (DNS
rebinding) is checked again.  A connection that is kept leads to the address that was checked,
whatever the name resolves to since.
"""

import asyncio
import select
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
        addresses: Resolves and checks a host; ``None`` leaves it to the operating system.
        web_ports: Where port 80 and port 443 are, in this order.
    """

    def __init__(
        self,
        addresses: Addresses | None = None,
        *,
        web_ports: tuple[int, int] = (80, 443),
    ) -> None:
        self._addresses = addresses
        self._ports = dict(zip((80, 443), web_ports, strict=True))
        self._tcp = httpcore.AnyIOBackend()

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
        del local_address, socket_options  # no pool here sets one
        if self._addresses is None:
            return BoundedStream(await self._tcp.connect_tcp(host, port, timeout))
        last: Exception | None = None
        for address in (await self._addresses(host))[:ADDRESSES]:
            try:
                stream = await self._tcp.connect_tcp(
                    address, self._ports.get(port, port), CONNECT_S
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
            else:
                return BoundedStream(stream)
        assert last is not None
        raise last

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class BoundedStream(httpcore.AsyncNetworkStream):
    """A connection that reads `FRAMING_BYTES` after each request, and more as allowed.

    Bytes are counted after decryption.

    Args:
        stream: The connection, TLS included if it has any.
    """

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left, self._at_once = FRAMING_BYTES, _HEAD_BYTES
        self._readable = select.poll()
        self._readable.register(stream.get_extra_info("socket"), select.POLLIN)

    def allow_body(self, max_bytes: int) -> None:
        """Read a body of *max_bytes* now that the head has come."""
        self._left, self._at_once = FRAMING_BYTES + max_bytes, _BODY_BYTES

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> bytes:
        """Return the next bytes.

        Raises:
            Unreachable: ``too-large``.
        """
        data = await self._stream.read(min(max_bytes, self._at_once), timeout)
        self._left -= len(data)
        if self._left < 0:
            raise Unreachable("too-large", "too many bytes besides the body")
        if len(data) == self._at_once:  # TLS may have more at hand, and let no other task run
            await asyncio.sleep(0)
        return data

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> None:
        self._left, self._at_once = FRAMING_BYTES, _HEAD_BYTES
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        """Return the connection over TLS; bytes that came before are read as part of it."""
        return BoundedStream(
            await self._stream.start_tls(ssl_context, server_hostname, timeout)
        )

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # httpcore asks every idle connection twice a request
            return False
        return self._stream.get_extra_info(info)

    def has_input(self) -> bool:
        """Return whether bytes, or the end of the connection, wait to be read."""
        return bool(self._readable.poll(0))


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

    def is_idle(self) -> bool:
        """Return whether it may be closed to make room; false in a pool that has room.

        At each request and answer httpcore asks all connections for each that is idle.
        """
        held = len(self._pool._connections)  # noqa: SLF001 - `connections` copies them all
        return held >= min(CONNECTIONS, IDLE_CONNECTIONS + 1) and super().is_idle()

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
        if not isinstance(http, httpcore.AsyncHTTP11Connection) or not super().is_idle():
            return False
        unread, _ = http._h11_state.trailing_data  # noqa: SLF001 - nothing public tells it
        stream = http._network_stream  # noqa: SLF001
        return bool(unread) or (isinstance(stream, BoundedStream) and stream.has_input())
