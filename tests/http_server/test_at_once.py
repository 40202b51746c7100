"""Calls that an application answers at once: in their order, and one for each arrival."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from starlette.types import Receive, Scope, Send

from cs.http_server import serving as serving_module
from cs.http_server.connections import ServerConfig
from cs.http_server.serving import listen, serving

CALL = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"


@dataclass
class Answer:
    status_code: int
    raw_headers: list[tuple[bytes, bytes]]
    body: bytes


class Echo:
    """Answers with what was asked for, and by which of its two ways."""

    def __init__(self) -> None:
        self.slow = asyncio.Event()
        self.slow.set()

    def at_once(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]]
    ) -> Answer | None:
        assert (method, dict(headers)[b"host"]) == ("GET", b"x")
        said = f"[{path} at once]".encode()
        length = (b"content-length", b"%d" % len(said))
        return Answer(200, [length], said) if "wait" not in path else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.slow.wait()
        body = (await receive())["body"]
        said = f"[{scope['path']} {body.decode()}called]".encode()
        length = (b"content-length", b"%d" % len(said))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": said})


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with listen("127.0.0.1", 0) as found:
        yield found


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def says(self, sent: bytes, answers: int) -> list[str]:
        """Send *sent* in one piece; return the bodies of so many answers."""
        self._writer.write(sent)
        return [await self._body() for _ in range(answers)]

    async def _body(self) -> str:
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return (await self._reader.readexactly(length)).decode()


@asynccontextmanager
async def connected(listening: socket.socket) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    try:
        yield Caller(reader, writer)
    finally:
        writer.close()


async def test_calls_are_answered_in_their_order_whichever_way(
    listening: socket.socket,
) -> None:
    app = Echo()
    body = b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
    closing = b"GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    async with (
        serving([(app, listening)], asyncio.Event()),
        asyncio.timeout(10),
        connected(listening) as caller,
    ):
        alone = [await caller.says(CALL % n, 1) for n in (1, 2)]
        app.slow.clear()
        waiting = asyncio.create_task(
            caller.says(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n" + CALL % 3 + CALL % 4, 3)
        )
        app.slow.set()
        with_body = await waiting
        last = await caller.says(body + closing, 2)

    assert alone == [["[/1 at once]"], ["[/2 at once]"]]
    # What comes behind another call does not keep other callers waiting.
    assert with_body == ["[/wait called]", "[/3 called]", "[/4 at once]"]
    assert last == ["[/b abccalled]", "[/c called]"]


async def test_a_connection_with_such_calls_is_not_idle(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: list[serving_module.Server] = []
    made = serving_module.Server.__init__

    def remembered(self: serving_module.Server, config: ServerConfig) -> None:
        made(self, config)
        servers.append(self)

    monkeypatch.setattr(serving_module.Server, "__init__", remembered)
    app = Echo()
    async with (
        serving([(app, listening)], asyncio.Event()),
        asyncio.timeout(10),
        connected(listening) as caller,
    ):
        now = 1_000_000.0
        for n in range(3):
            assert await caller.says(CALL % n, 1) == [f"[/{n} at once]"]
            servers[0]._close_idle(now)
            now += serving_module.IDLE_S - 1
        assert await caller.says(CALL % 9, 1) == ["[/9 at once]"]  # it was not closed

        servers[0]._close_idle(now)
        servers[0]._close_idle(now + serving_module.IDLE_S)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await caller.says(CALL % 10, 1)
