"""Heads of answers, as they are sent: ordinary ones are written as uvicorn writes them."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send

from cs.http_server.serving import listen, serving

CALL = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
KEPT = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LENGTH = (b"content-length", b"2")


class Says:
    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self._headers = headers

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with listen("127.0.0.1", 0) as found:
        yield found


async def told(listening: socket.socket, app: Says, sent: bytes) -> bytes:
    async with serving([(app, listening)], asyncio.Event()), asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        return answer


async def test_an_ordinary_head_is_the_one_that_uvicorn_writes(
    listening: socket.socket,
) -> None:
    app = Says(LENGTH, (b"x-a", b"b \xff\t"))

    ours, theirs = (await told(listening, app, KEPT + CALL)).split(b"ok")[:2]

    without_date = [
        [line for line in head.split(b"\r\n") if not line.startswith(b"date: ")]
        for head in (ours, theirs.replace(b"connection: close\r\n", b""))
    ]
    assert without_date[0] == without_date[1]
    assert len(without_date[0]) == 5


@pytest.mark.parametrize(
    "header",
    [
        (b"x-a", b"b\r\nx-injected: c"),
        (b"x-a", b"b\nx-injected: c"),
        (b"x-a", b"b\r"),
        (b"x-a", b"b\x00"),
        (b"x-a: b\r\nx-injected", b"c"),
        (b"x a", b"b"),
    ],
)
async def test_no_header_is_two_and_none_is_broken(
    listening: socket.socket, header: tuple[bytes, bytes]
) -> None:
    answer = await told(listening, Says(LENGTH, header), KEPT)

    assert b"x-injected" not in answer
    assert not answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("length", [b"1", b"-2", b"two"])
async def test_an_answer_is_no_longer_than_it_says(
    listening: socket.socket, length: bytes
) -> None:
    answer = await told(listening, Says((b"content-length", length)), KEPT)

    assert not answer.endswith(b"ok")
