"""Connections of the HTTP clients: dialled at checked addresses, one for each request.

A host that a caller or the web named is resolved, checked and dialled here, in one step: the
address that was checked is the address that is dialled.  TLS and the Host header keep the name,
so certificates are checked against it, and a name that resolves differently the next time (DNS
rebinding) is checked again.  No connection serves a second request, so bytes behind an answer
are never taken for the next answer.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpcore

from cs.outside.guard import Guard, is_literal
from cs.outside.port import Forbidden, Resolver, Unreachable

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
    """Return a function that resolves a host and has *guard* check all its addresses."""

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
        return addresses[:ADDRESSES]

    return addresses_of


class Backend(httpcore.AnyIOBackend):
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
        self._addresses = addresses
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
        hosts = [host.strip("[]")] if self._addresses is None else await self._addresses(host)
        last: Exception | None = None
        for each in hosts:
            try:
                stream = await super().connect_tcp(each, self._ports.get(port, port), CONNECT_S)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
            else:
                return BoundedStream(stream)
        assert last is not None
        raise last


class BoundedStream(httpcore.AsyncNetworkStream):
    """A connection that reads at most `FRAMING_BYTES` for one answer, and more as allowed."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left, self._at_once = FRAMING_BYTES, _HEAD_BYTES

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
            httpcore.ReadError: The connection broke.
        """
        try:
            data = await self._stream.read(min(max_bytes, self._at_once), timeout)
        except OSError as error:  # of TLS: httpcore does not translate those
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
        try:
            await self._stream.write(buffer, timeout)
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        """Begin TLS with the first byte that has come; one that is not TLS ends it."""
        try:
            stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:  # httpcore closes none that was cancelled
            await self._stream.aclose()
            raise
        return BoundedStream(stream)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
