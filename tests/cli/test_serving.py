"""Serving on a socket of ours, and leaving it."""

import asyncio
import socket
import threading
from contextlib import suppress

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from cs.serving import CannotListen, address, listen, serving


class Held:
    """An application that answers only once the service leaves."""

    def __init__(self) -> None:
        self.draining = asyncio.Event()
        self.asked = asyncio.Event()
        self.answered = False

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        self.asked.set()
        await self.draining.wait()
        for _ in range(3):  # an answer takes some reading, in threads
            await asyncio.to_thread(threading.get_ident)
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        self.answered = True


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


def test_an_address_of_version_six_is_written_as_in_a_url() -> None:
    with listen("::1", 0) as listening:
        assert address(listening) == f"http://[::1]:{listening.getsockname()[1]}"


def test_a_taken_port_is_told_with_the_setting_it_comes_from() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=f"port {port} .* in use; .* --admin-port"):
            listen("127.0.0.1", port, what="admin_port")
