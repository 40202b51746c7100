"""The loop of what serves: uvloop's, and without it asyncio's own, which serves as well."""

import asyncio
import sys

import httpx
import pytest
import uvloop
from starlette.types import Receive, Scope, Send

from cs.http_server.serving import address, listen, serving
from cs.runtime import event_loop


async def constant(_scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


async def served() -> tuple[bool, list[str]]:
    """Return whether it runs on uvloop, and the answers to two calls on one connection."""
    loop = asyncio.get_running_loop()
    with listen("127.0.0.1", 0) as listening:
        async with (
            serving([(constant, listening)], asyncio.Event()),
            httpx.AsyncClient(base_url=address(listening), trust_env=False) as client,
        ):
            answers = [
                (await client.post("/", content=body)).text for body in (b"", b"a" * 999)
            ]
    return isinstance(loop, uvloop.Loop), answers


def test_what_serves_runs_on_uvloop() -> None:
    assert event_loop.run(served()) == (True, ["ok", "ok"])


def test_without_uvloop_it_serves_on_the_loop_that_python_brings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)

    assert event_loop.run(served()) == (False, ["ok", "ok"])
