"""TCP and HTTP/1.1 servers on loopback, which end with the sandbox."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

import msgspec

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

#: Returns after so many seconds of the world's clock.
Sleep = Callable[[float], Awaitable[object]]

_CLOSING_S = 1.0
_IDLE_S = 30.0
_MAX_BODY = 64 * 1024


@asynccontextmanager
async def listening(
    serve: Serve, hosts: Sequence[str], port: int, *, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve TCP connections to *port* of every one of *hosts* until left.

    *serve* ends a connection by returning.  Errors of the network and malformed input
    (`OSError`, `ValueError`) end it quietly.

    Raises:
        OSError: A port is taken, or a host is no address of this machine.
    """
    running: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, ValueError, asyncio.IncompleteReadError):
                await serve(reader, writer)
        finally:
            await _close(writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(connected(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    if not hosts:
        yield
        return
    server = await asyncio.start_server(accept, list(hosts), port, ssl=tls)
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await server.wait_closed()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        async with asyncio.timeout(_CLOSING_S):
            await writer.wait_closed()
    except (TimeoutError, asyncio.CancelledError):
        writer.transport.abort()
    except OSError:
        pass  # the other side has cut it; a TLS transport may not be aborted after that


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    path: str  # as sent, without the query
    query: dict[str, str]  # the last value of each name
    headers: dict[str, str]  # names in lower case
    body: bytes = b""

    @property
    def host(self) -> str:
        """Return the host name of the request, without a port, in lower case."""
        return self.headers.get("host", "").partition(":")[0].casefold()


class HttpReply(msgspec.Struct, frozen=True, kw_only=True):
    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = {}
    after_s: float = 0.0  # how long the client waits for it


#: ``None`` closes the connection without an answer.
Respond = Callable[[HttpRequest], Awaitable[HttpReply | None]]


def json_reply(
    value: object,
    status: int = 200,
    *,
    after_s: float = 0.0,
    headers: dict[str, str] | None = None,
) -> HttpReply:
    return HttpReply(
        status=status,
        body=msgspec.json.encode(value),
        content_type="application/json; charset=utf-8",
        headers=headers or {},
        after_s=after_s,
    )


def speaking_http(respond: Respond, sleep: Sleep = asyncio.sleep) -> Serve:
    """Return a function that serves one connection with *respond*, delayed by *sleep*."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            async with asyncio.timeout(_IDLE_S):
                request = await _read(reader)
            reply = await respond(request)
            if reply is None:
                return
            if reply.after_s:
                await sleep(reply.after_s)
            writer.write(_wire(reply))
            await writer.drain()
            if request.headers.get("connection", "").casefold() == "close":
                return

    return serve


async def _read(reader: asyncio.StreamReader) -> HttpRequest:
    """Read one request.

    Raises:
        EOFError: The client has closed the connection.
        ValueError: It is no HTTP/1 request, or its body is too long.
    """
    first, *lines = (await _head(reader)).decode("latin-1").split("\r\n")
    _, target, version = first.split()
    if not version.startswith("HTTP/1."):
        raise ValueError(version)
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().casefold(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= _MAX_BODY or "transfer-encoding" in headers:
        raise ValueError("a body")
    body = await reader.readexactly(length)
    split = urlsplit(target)
    query = dict(parse_qsl(split.query, keep_blank_values=True))
    return HttpRequest(path=split.path, query=query, headers=headers, body=body)


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise ValueError("a head of over 64 KiB") from error


def _wire(reply: HttpReply) -> bytes:
    headers = {
        "Content-Type": reply.content_type,
        "Content-Length": str(len(reply.body)),
        **reply.headers,
    }
    phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else "Status"
    head = f"HTTP/1.1 {reply.status} {phrase}\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in headers.items()
    )
    return head.encode("latin-1") + b"\r\n" + reply.body
