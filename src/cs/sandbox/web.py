"""A small HTTP/1.1 server; everything is bounded."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import parse_qsl, urlsplit

import msgspec

from cs.sandbox.listening import Connected, Sleep

_MAX_HEADERS = 64
_MAX_BODY = 64 * 1024
_MAX_REQUESTS = 1_000
_IDLE_S = 30.0


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    path: str  # as sent, without the query
    query: dict[str, str]  # the last value of each name
    headers: dict[str, str]  # names in lower case
    body: bytes = b""

    @property
    def host(self) -> str:
        """The name asked for, without a port, in lower case."""
        return self.headers.get("host", "").partition(":")[0].casefold()


class HttpReply(msgspec.Struct, frozen=True, kw_only=True):
    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = {}
    after_s: float = 0.0  # how long the client waits for it


#: ``None`` closes the connection without an answer.
Respond = Callable[[HttpRequest], Awaitable[HttpReply | None]]


def speaking_http(respond: Respond, sleep: Sleep = asyncio.sleep) -> Connected:
    """Return a function that serves one connection with *respond*, delayed by *sleep*."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(_MAX_REQUESTS):
            async with asyncio.timeout(_IDLE_S):
                request = await _read(reader)
            if request is None:
                return
            reply = await respond(request)
            if reply is None:
                return
            if reply.after_s:
                await sleep(reply.after_s)
            last = request.headers.get("connection", "").casefold() == "close"
            writer.write(_wire(reply, last=last))
            await writer.drain()
            if last:
                return

    return serve


async def _read(reader: asyncio.StreamReader) -> HttpRequest | None:
    """Read one request; ``None`` at the end of the connection.

    Raises:
        ValueError: No HTTP, a body that is too long, or more headers than are read: not worth
            an answer.
    """
    first = await reader.readline()
    if not first:
        return None
    _, target, version = first.decode("latin-1").split()
    if not version.startswith("HTTP/1."):
        raise ValueError(version)
    headers: dict[str, str] = {}
    while (line := (await reader.readline()).decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.strip().casefold()] = value.strip()
        if len(headers) > _MAX_HEADERS:
            raise ValueError("too many headers")
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= _MAX_BODY or "transfer-encoding" in headers:
        raise ValueError("a body")
    body = await reader.readexactly(length)
    split = urlsplit(target)
    query = dict(parse_qsl(split.query, keep_blank_values=True, max_num_fields=64))
    return HttpRequest(path=split.path, query=query, headers=headers, body=body)


def _wire(reply: HttpReply, *, last: bool) -> bytes:
    headers = {
        "Content-Type": reply.content_type,
        "Content-Length": str(len(reply.body)),
        "Connection": "close" if last else "keep-alive",
        **reply.headers,
    }
    head = f"HTTP/1.1 {reply.status} {_phrase(reply.status)}\r\n" + "".join(
        f"{name}: {value}\r\n" for name, value in headers.items()
    )
    return head.encode("latin-1") + b"\r\n" + reply.body


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
