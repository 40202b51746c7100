"""Serving on a socket of ours, and leaving it."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from harness.on_port import port_of, ports_of

LENGTH = (b"content-length", b"0")


class Held:
    """An application that answers only once the service leaves, but ``/now`` at once."""

    def __init__(self) -> None:
        self.draining = asyncio.Event()
        self.asked = asyncio.Event()
        self.answered = False
        #: Is awaited before a held call is answered.
        self.last: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        if scope["path"] != "/now":
            await self._hold()
        await send({"type": "http.response.start", "status": 202, "headers": [LENGTH]})
        await send({"type": "http.response.body", "body": b""})
        self.answered = True

    async def _hold(self) -> None:
        self.asked.set()
        await self.draining.wait()
        for _ in range(3):  # an answer takes some reading, in threads
            await asyncio.to_thread(threading.get_ident)
        if self.last is not None:
            await self.last


async def call(url: str) -> int:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(url)).status_code


@pytest.mark.parametrize("error", [None, RuntimeError(), asyncio.CancelledError()])
async def test_held_calls_are_answered_however_it_ends(error: BaseException | None) -> None:
    app = Held()

    calls = []
    with suppress(BaseExceptionGroup, asyncio.CancelledError):
        async with port_of(app, app.draining) as port:
            calls.append(asyncio.create_task(call(port.url)))
            await app.asked.wait()
            if error is not None:
                raise error

    assert app.answered
    async with asyncio.timeout(5):
        assert await calls[0] == 202


class Endless:
    """An application that never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.cancelled_at = 0.0

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled_at = time.monotonic()
            await self.end(send)
            raise

    async def end(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b"cut off"})


async def test_the_grace_of_calls_that_do_not_end_counts_from_the_first_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Uvicorn would count from when it has begun to close, a second of its own."""
    monkeypatch.setattr("cs.http_server.serving.GRACE_S", 0.05)
    app = Endless()
    async with port_of(app) as port:
        calling = asyncio.create_task(call(port.url))
        await app.asked.wait()
        left_at = time.monotonic()

    assert await calling == 500
    assert app.cancelled_at - left_at < 1


ANSWERED = b"GET /now HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n"


@pytest.mark.slow
async def test_a_connection_that_makes_no_call_is_closed_and_a_held_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last bytes of a body end what uvicorn counts by itself."""
    monkeypatch.setattr("cs.http_server.connections.HEAD_S", 0.5)
    app = Held()
    async with port_of(app, app.draining) as port, asyncio.timeout(10):
        calling = asyncio.create_task(call(port.url))
        await app.asked.wait()
        reader, writer = await asyncio.open_connection(*port.address)
        writer.write(ANSWERED + b"not all of i")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"t")

        await reader.read()  # to its end
        writer.close()
        assert not calling.done()
    assert await calling == 202


class Long:
    """An application that answers *length* bytes and counts such calls, but ``/now`` none."""

    def __init__(self, length: int) -> None:
        self._body = b"x" * length
        self.begun = self.ended = 0

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        counts = scope["path"] != "/now"
        body = self._body if counts else b""
        length = (b"content-length", b"%d" % len(body))
        self.begun += counts
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})
        self.ended += counts


#: Of what the kernel keeps for one who does not read: as little as it lets itself be reported.
SMALL = 2048


@asynccontextmanager
async def deaf(listening: socket.socket, sent: bytes) -> AsyncIterator[None]:
    """Send *sent* to *listening*, and read nothing until left."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        caller.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(caller, listening.getsockname())
        await loop.sock_sendall(caller, sent)
        yield


def sockets() -> int:
    """Return how many this process has open."""
    links = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing itself
            links.append(str(descriptor.readlink()))
    return sum(link.startswith("socket:") for link in links)


KEPT = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "sent"),
    [
        pytest.param(60_000, KEPT, id="an answer"),  # less than stops whoever writes it
        pytest.param(60_000, LAST, id="an answer that is the last"),
        pytest.param(200_000, KEPT, id="a long answer"),
        pytest.param(60_000, KEPT * 20, id="an answer whose call waits for others"),
    ],
)
async def test_a_caller_who_does_not_read_is_left(
    monkeypatch: pytest.MonkeyPatch, length: int, sent: bytes
) -> None:
    """Neither its connection nor a call of it stays; whoever waits for an answer does."""
    monkeypatch.setattr("cs.http_server.connections.IDLE_S", 0.3)
    app, held = Long(length), Held()
    async with (
        ports_of(app, held, draining=held.draining) as (port, other),
        httpx.AsyncClient(base_url=port.url, trust_env=False) as client,
        asyncio.timeout(20),
    ):
        calling = asyncio.create_task(call(other.url))
        await held.asked.wait()
        await client.get("/now")
        before = sockets()
        async with deaf(port.listening, sent):
            while not app.begun:
                await client.get("/now")
            assert sockets() == before + 2, "the caller's end and ours"

            while sockets() != before + 1 or app.begun != app.ended:
                await client.get("/now")
        assert not calling.done()
    assert await calling == 202


async def test_no_connection_is_taken_that_would_not_be_served() -> None:
    """Refused from the moment the service leaves, also while calls are still open."""
    app, refused = Held(), []

    async def knock(url: str) -> None:
        await app.draining.wait()
        async with httpx.AsyncClient(trust_env=False) as late:
            with pytest.raises(httpx.ConnectError):
                await late.get(url)
        refused.append(url)

    async with port_of(app, app.draining) as port:
        calling = asyncio.create_task(call(port.url))
        app.last = asyncio.create_task(knock(port.url))
        await app.asked.wait()

    assert await calling == 202
    assert len(refused) == 1
