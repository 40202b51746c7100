"""TCP and TLS of the HTTP clients by asyncio itself, for httpcore's connection pool.

httpcore's own way, by anyio, takes as much processor time as all the rest of a call, most
of it to ask the system of each idle connection at each call whether the other side has closed
it.  Here the event loop has said so already.
"""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, cast

import httpcore

from cs.outside.guard import is_literal

#: How long one address of a name may take before the next one is dialled too.
NEXT_S = 0.25
#: Bytes that are read before anybody asks for them; then the other side has to wait.
AHEAD = 256 * 1024


class AsyncioBackend(httpcore.AsyncNetworkBackend):
    """Dials host names and addresses; of a name's addresses the first that answers."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to *host*.

        Raises:
            httpcore.ConnectTimeout, httpcore.ConnectError: It does not answer.
        """
        del local_address, socket_options  # nobody here sets one; TCP_NODELAY is asyncio's own
        try:
            async with asyncio.timeout(timeout):
                addresses = await _addresses(host, port)
                return await first_to_answer(addresses, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"{host} does not answer") from error
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _addresses(host: str, port: int) -> list[str]:
    """Return the addresses of *host*, those of its first one's family and others in turn."""
    if is_literal(host):
        return [host.strip("[]")]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    by_family: dict[int, list[str]] = {}
    for family, _, _, _, address in found:
        by_family.setdefault(family, []).append(str(address[0]))
    in_turn = zip_longest(*by_family.values())  # RFC 8305, section 4
    return [address for each in in_turn for address in each if address is not None]


async def first_to_answer(addresses: Sequence[str], port: int) -> "_Connection":
    """Return a connection to the first of *addresses* that answers.

    The next one is dialled when the last has failed, or after `NEXT_S` (RFC 8305, section 5).

    Raises:
        OSError: None answers.
    """
    left, dialling = deque(addresses), set[asyncio.Task[_Connection]]()
    first_error: BaseException = OSError("the name has no address")
    try:
        while left or dialling:
            if left:
                dialling.add(asyncio.create_task(_dial(left.popleft(), port)))
            done, dialling = await asyncio.wait(
                dialling,
                timeout=NEXT_S if left else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            answered = [each.result() for each in done if each.exception() is None]
            for other in answered[1:]:
                await other.aclose()
            if answered:
                return answered[0]
            errors = [error for each in done if (error := each.exception()) is not None]
            first_error = errors[0] if errors else first_error
        raise first_error
    finally:
        for each in dialling:
            each.cancel()
        for late in await asyncio.gather(*dialling, return_exceptions=True):
            if isinstance(late, _Connection):
                await late.aclose()


async def _dial(address: str, port: int) -> "_Connection":
    connection = _Connection()
    await asyncio.get_running_loop().create_connection(lambda: connection, address, port)
    return connection


class _Connection(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection; one reads and one writes at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parts: deque[bytes] = deque()
        self._held = 0  # bytes in the parts
        self._ended = False
        self._error: Exception | None = None
        self._paused = False
        self._reader: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's derive from none

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._held += len(data)
        if self._held > AHEAD and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = exc
        self._room.set()
        self._wake()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    # What httpcore calls.

    async def read(
        self,
        max_bytes: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> bytes:
        if not self._parts and not self._ended:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(timeout):
                    await self._reader
            except TimeoutError as error:
                raise httpcore.ReadTimeout("nothing came in time") from error
            finally:
                self._reader = None
        if not self._parts:
            if self._error is not None:
                raise httpcore.ReadError(str(self._error)) from self._error
            return b""
        part = self._parts.popleft()
        if len(part) > max_bytes:
            self._parts.appendleft(part[max_bytes:])
            part = part[:max_bytes]
        self._held -= len(part)
        if self._paused and self._held <= AHEAD and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return part

    async def write(
        self,
        buffer: bytes,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> None:
        if not buffer:
            return
        if self._ended or self._transport is None or self._transport.is_closing():
            raise httpcore.WriteError("the other side has closed the connection")
        self._transport.write(buffer)
        try:
            async with asyncio.timeout(timeout):
                await self._room.wait()
        except TimeoutError as error:
            raise httpcore.WriteTimeout("nothing was taken in time") from error

    async def aclose(self) -> None:
        # What is still to be read or written is of no use to anybody.
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
    ) -> httpcore.AsyncNetworkStream:
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                transport = await loop.start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname
                )
        except TimeoutError as error:
            self._transport.abort()
            raise httpcore.ConnectTimeout("no TLS in time") from error
        except OSError as error:  # ssl.SSLError is one
            self._transport.abort()
            raise httpcore.ConnectError(str(error)) from error
        if transport is None:  # it was closed meanwhile
            raise httpcore.ConnectError("the other side has closed the connection")
        self._transport = transport
        return self

    def get_extra_info(self, info: str) -> Any:
        assert self._transport is not None
        match info:
            case "is_readable":  # what is idle and readable has ended, or is no use
                return bool(self._parts) or self._ended
            case "ssl_object":
                return self._transport.get_extra_info("ssl_object")
            case "client_addr":
                return self._transport.get_extra_info("sockname")
            case "server_addr":
                return self._transport.get_extra_info("peername")
            case "socket":
                return self._transport.get_extra_info("socket")
            case _:
                return None
