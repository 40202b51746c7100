"""Serving on a socket of ours, and leaving it."""

import asyncio
import socket
import threading
import time
from contextlib import suppress

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from cs.serving import CLOSE_S, CannotListen, address, listen, serving

LENGTH = (b"content-length", b"0")


class Held:
    """An application that answers only once the service leaves, but ``/now`` at once."""

    def __init__(self) -> None:
        self.draining = asyncio.Event()
        self.asked = asyncio.Event()
        self.answered = False

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


async def call(url: str) -> int:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.get(url)).status_code


@pytest.mark.parametrize("error", [None, RuntimeError(), asyncio.CancelledError()])
async def test_held_calls_are_answered_however_it_ends(error: BaseException | None) -> None:
    app = Held()

    async def serve_until_asked(listening: socket.socket) -> None:
        async with serving([(app, listening)], app.draining):
            await app.asked.wait()
            if error is not None:
                raise error

    with listen("127.0.0.1", 0) as listening:
        calling = asyncio.create_task(call(address(listening)))
        with suppress(BaseExceptionGroup, asyncio.CancelledError):
            await serve_until_asked(listening)

        assert app.answered
        async with asyncio.timeout(5):
            assert await calling == 202


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
            await send({"type": "http.response.start", "status": 500, "headers": []})
            await send({"type": "http.response.body", "body": b"cut off"})
            raise


async def test_the_grace_of_calls_that_do_not_end_counts_from_the_first_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Uvicorn would count from when it has begun to close, a second of its own."""
    monkeypatch.setattr("cs.serving.GRACE_S", 0.05)
    app = Endless()
    with listen("127.0.0.1", 0) as listening:
        calling = asyncio.create_task(call(address(listening)))
        async with serving([(app, listening)], asyncio.Event()):
            await app.asked.wait()
            left_at = time.monotonic()

        assert await calling == 500
    assert app.cancelled_at - left_at < CLOSE_S


ANSWERED = b"GET /now HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"GET / HT", ANSWERED + b"not all of it"])
async def test_a_connection_that_makes_no_call_is_closed_and_a_held_one_is_not(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """What was sent last ended what uvicorn counts by itself."""
    monkeypatch.setattr("cs.serving.IDLE_S", 1)
    app = Held()
    with listen("127.0.0.1", 0) as listening:
        calling = asyncio.create_task(call(address(listening)))
        async with serving([(app, listening)], app.draining), asyncio.timeout(10):
            await app.asked.wait()
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(sent[:-1])
            if sent.startswith(ANSWERED):
                await reader.readuntil(b"\r\n\r\n")
            writer.write(sent[-1:])

            await reader.read()  # to its end
            writer.close()
            assert not calling.done()
        assert await calling == 202


def test_an_address_of_version_six_is_written_as_in_a_url() -> None:
    with listen("::1", 0) as listening:
        assert address(listening) == f"http://[::1]:{listening.getsockname()[1]}"


def test_a_taken_port_is_told_with_the_setting_it_comes_from() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"port {port} .* in use; .* --admin-port"):
            listen("127.0.0.1", port, what="admin_port")
