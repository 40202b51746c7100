"""Calls that an application answers at once: in their order, and one for each arrival."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

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
        self.soon_answers: list[Callable[[Answer | None, dict[str, Any]], None]] = []
        self.asked_soon = asyncio.Event()

    def at_once(
        self, method: str, path: str, headers: list[tuple[bytes, bytes]]
    ) -> Answer | None:
        assert (method, dict(headers)[b"host"]) == ("GET", b"x")
        said = f"[{path} at once]".encode()
        length = (b"content-length", b"%d" % len(said))
        return (
            Answer(200, [length], said) if not {"wait", "soon"} & set(path.split("/")) else None
        )

    def soon(
        self,
        method: str,
        path: str,
        headers: list[tuple[bytes, bytes]],
        answered: Callable[[Answer | None, dict[str, Any]], None],
    ) -> bool:
        assert (method, dict(headers)[b"host"]) == ("GET", b"x")
        if "soon" not in path:
            return False
        self.soon_answers.append(answered)
        self.asked_soon.set()
        return True

    async def answer_soon(self, said: bytes | None, **state: str) -> None:
        """Answer the call that was asked soon, or have the application called."""
        await self.asked_soon.wait()
        self.asked_soon.clear()
        length = (b"content-length", b"%d" % len(said or b""))
        answer = None if said is None else Answer(200, [length], said)
        self.soon_answers.pop()(answer, dict(state))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.slow.wait()
        body = (await receive())["body"]
        body += b"with a note " * ("note" in scope["state"])
        said = f"[{scope['path']} {body.decode()}called]".encode()
        length = (b"content-length", b"%d" % len(said))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": said})


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with listen("127.0.0.1", 0) as found:
        yield found


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> list[serving_module.Server]:
    """Return a list into which servers come as they are made."""
    found: list[serving_module.Server] = []
    made = serving_module.Server.__init__

    def remembered(self: serving_module.Server, config: ServerConfig) -> None:
        made(self, config)
        found.append(self)

    monkeypatch.setattr(serving_module.Server, "__init__", remembered)
    return found


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def says(self, sent: bytes, answers: int) -> list[str]:
        """Send *sent* in one piece; return the bodies of so many answers."""
        self._writer.write(sent)
        return [await self._body() for _ in range(answers)]

    async def head(self, sent: bytes) -> bytes:
        """Send *sent*; return the head of the answer."""
        self._writer.write(sent)
        return await self._reader.readuntil(b"\r\n\r\n")

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


async def test_calls_answered_soon_keep_their_order(listening: socket.socket) -> None:
    app = Echo()
    soon = b"GET /soon HTTP/1.1\r\nHost: x\r\n\r\n"
    async with (
        serving([(app, listening)], asyncio.Event()),
        asyncio.timeout(10),
        connected(listening) as caller,
    ):
        answered = asyncio.create_task(caller.says(soon, 1))
        await app.answer_soon(b"soon")
        first = await answered
        called = asyncio.create_task(caller.says(soon, 1))
        await app.answer_soon(None, note="counted")
        second = await called
        behind = asyncio.create_task(caller.says(soon, 1))
        await app.asked_soon.wait()
        await caller.says(CALL % 1 + CALL % 2, 0)
        await app.answer_soon(b"before those behind")
        third = await behind
        rest = await caller.says(b"", 2)

    assert (first, second) == (["soon"], ["[/soon with a note called]"])
    assert (third, rest) == (["before those behind"], ["[/1 called]", "[/2 at once]"])


async def test_who_hung_up_is_answered_no_more(listening: socket.socket) -> None:
    app = Echo()
    async with serving([(app, listening)], asyncio.Event()), asyncio.timeout(10):
        async with connected(listening) as gone:
            await gone.says(b"GET /soon HTTP/1.1\r\nHost: x\r\n\r\n", 0)
            await app.asked_soon.wait()
        async with connected(listening) as caller:
            assert await caller.says(CALL % 1, 1) == ["[/1 at once]"]
            await app.answer_soon(b"nobody reads this")
            assert await caller.says(CALL % 2, 1) == ["[/2 at once]"]


async def test_who_is_answered_while_the_service_leaves_is_the_last(
    listening: socket.socket, servers: list[serving_module.Server]
) -> None:
    app = Echo()
    async with (
        serving([(app, listening)], asyncio.Event()),
        asyncio.timeout(10),
        connected(listening) as caller,
    ):
        answered = asyncio.create_task(caller.head(b"GET /soon HTTP/1.1\r\nHost: x\r\n\r\n"))
        await app.asked_soon.wait()
        for connection in servers[0].server_state.connections:
            connection.shutdown()
        await app.answer_soon(b"the last")

        assert b"\r\nconnection: close\r\n" in await answered
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await caller.says(CALL % 1, 1)


async def test_a_connection_with_such_calls_is_not_idle(
    listening: socket.socket, servers: list[serving_module.Server]
) -> None:
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
