"""Callers' connections over real sockets: who makes no call, who comes when all are in use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx
import msgspec
import pytest
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from harness.on_port import port_of

CALL = b"GET /now HTTP/1.1\r\nHost: x\r\n\r\n"
HELD = b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n"

#: More than the kernel takes from us for somebody who does not read.
LONG = b"x" * 20_000_000

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class App:
    """Answers ``/held`` when told to, everything else at once."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.held = self.answered = 0
        self.asked = asyncio.Condition()

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["path"] == "/held":
            async with self.asked:
                self.held += 1
                self.asked.notify_all()
            await self.go.wait()
        body = LONG if scope["path"] == "/long" else b"ok"
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self.answered += 1

    async def holds(self, calls: int) -> None:
        async with self.asked:
            await self.asked.wait_for(lambda: self.held == calls)


class Port:
    def __init__(self, url: str, at: tuple[str, int]) -> None:
        self.url = url
        self._at = at
        self._open: list[asyncio.StreamWriter] = []

    async def connect(self, sent: bytes = b"") -> Streams:
        reader, writer = await asyncio.open_connection(*self._at)
        self._open.append(writer)
        writer.write(sent)
        return reader, writer

    async def answered(self) -> Streams:
        """Return a connection on which a call was made and answered."""
        reader, writer = await self.connect(CALL)
        await read_answer(reader)
        return reader, writer

    def close(self) -> None:
        for writer in self._open:
            writer.close()


async def read_answer(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert await reader.readexactly(2) == b"ok"


async def cut_off(reader: asyncio.StreamReader) -> None:
    """Return when the other side has closed without a word."""
    with suppress(ConnectionError):
        assert await reader.read() == b""


@asynccontextmanager
async def port(app: App) -> AsyncIterator[Port]:
    async with port_of(app, app.go) as served, asyncio.timeout(20):
        at = Port(served.url, served.address)
        try:
            yield at
        finally:
            at.close()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.http_server.connections.HEAD_S", 0.2)


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.http_server.serving.connections_of", lambda _: (4, 2))


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("sent", [b"", b"G", CALL[:-2]])
async def test_a_connection_without_a_whole_head_is_closed(sent: bytes) -> None:
    async with port(App()) as at:
        reader, _ = await at.connect(sent)

        assert await reader.read() == b""


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("begun", [b"G", CALL[:-2]])
async def test_the_next_head_counts_from_its_first_byte(begun: bytes) -> None:
    async with port(App()) as at:
        resting, _ = await at.answered()
        reader, writer = await at.answered()
        writer.write(begun)

        assert await reader.read() == b""
        assert not resting.at_eof(), "between two calls nothing is awaited"


async def test_what_comes_behind_a_call_is_looked_at_once_it_is_answered() -> None:
    app = App()
    async with port(app) as at:
        reader, _ = await at.connect(HELD + CALL * 1_000 + b"no HTTP\r\n\r\n")
        await app.holds(1)
        await (await at.connect(CALL))[0].readuntil(b"ok")
        answered = app.answered
        app.go.set()

        for _ in range(1_001):
            await read_answer(reader)
        assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    assert answered == 1, "none of those behind"


@pytest.mark.usefixtures("hasty")
async def test_a_head_that_trickles_in_is_not_waited_for_longer() -> None:
    async with port(App()) as at:
        reader, writer = await at.connect(b"GET /now HTTP/1.1\r\n")

        closed = asyncio.create_task(cut_off(reader))
        while not closed.done():
            writer.write(b"X-A: b\r\n")
            await asyncio.wait([closed], timeout=0.02)


@pytest.mark.usefixtures("hasty")
async def test_a_call_in_hand_is_not_counted() -> None:
    app = App()
    async with port(app) as at:
        held, _ = await at.connect(HELD)
        await app.holds(1)
        closed, _ = await at.connect()
        await closed.read()  # which takes as long as a head may
        app.go.set()

        await read_answer(held)


@pytest.mark.usefixtures("four")
async def test_a_new_connection_replaces_the_one_idle_longest() -> None:
    app = App()
    async with port(app) as at:
        held, _ = await at.connect(HELD)
        await app.holds(1)
        silent, _ = await at.connect()
        (first, _), (second, _) = await at.answered(), await at.answered()
        with capture_logs() as lines:
            await at.answered()

            assert await silent.read() == b""
            await at.answered()
            assert await first.read() == b""
        assert not second.at_eof()
        app.go.set()
        await read_answer(held)

    full = [line for line in lines if line["event"] == "connections_full"]
    assert [(line["port"], line["most"], line["closed"]) for line in full] == [("api", 4, 1)]


@pytest.mark.usefixtures("four")
async def test_a_connection_while_all_make_calls_is_refused_and_others_go_on() -> None:
    app = App()
    async with port(app) as at:
        calls = [await at.connect(HELD) for _ in range(4)]
        await app.holds(4)

        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(at.url)
        app.go.set()
        for reader, _ in calls:
            await read_answer(reader)
        await at.answered()

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    error = msgspec.json.decode(answer.content)["error"]
    assert (error["code"], set(error)) == ("at_capacity", {"code", "message"})


@pytest.mark.usefixtures("four")
async def test_a_refused_connection_that_stays_is_closed_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.http_server.connections.REFUSAL_S", 0.1)
    monkeypatch.setattr("cs.http_server.connections.REFUSING_AT_ONCE", 2)
    app = App()
    async with port(app) as at:
        for _ in range(4):
            await at.connect(HELD)
        await app.holds(4)

        staying = [await at.connect() for _ in range(2)]
        await cut_off((await at.connect())[0])
        for reader, _ in staying:
            await cut_off(reader)
        again, _ = await at.connect(CALL)
        assert (await again.read()).startswith(b"HTTP/1.1 503 ")
