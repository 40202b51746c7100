"""Connections to sources: kept, closed and dialled; limits of an answer on the wire."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Network

import pytest

from cs.outside import connections
from cs.outside.body import PARTS
from cs.outside.connections import FRAMING_BYTES
from cs.outside.guard import Guard
from cs.outside.http import GuardedClient, TrustedClient
from cs.outside.port import Forbidden, Unreachable
from cs.outside.single_request import MAX_BYTES
from harness.loopback_server import loopback_server
from outside.loopback_web import Zone

OPEN, CLOSED = "127.81.0.1", "127.82.0.1"


class KeepingServer:
    """Answers any number of requests on a connection, and counts connections."""

    def __init__(self) -> None:
        self.connections: list[asyncio.StreamWriter] = []
        self.closed = asyncio.Semaphore(0)  # released for each that the client has closed
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://{OPEN}:{self.port}/"

    @property
    def open_connections(self) -> int:
        return sum(not each.is_closing() for each in self.connections)

    async def hang_up(self) -> None:
        """Close every connection, as a server does with one that has been idle for long."""
        for each in self.connections:
            each.close()
            await each.wait_closed()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(writer)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
            self.closed.release()


@asynccontextmanager
async def keeping() -> AsyncIterator[KeepingServer]:
    web = KeepingServer()
    async with loopback_server(web.serve, OPEN) as web.port:
        yield web
        await web.hang_up()


def guarded(web: KeepingServer, zone: Zone) -> GuardedClient:
    ports = (web.port, web.port)
    guard = Guard([IPv4Network("127.81.0.0/16")], frozenset(ports))
    return GuardedClient(guard, zone, user_agent="test", web_ports=ports)


async def test_a_source_is_asked_over_one_connection() -> None:
    async with keeping() as web, TrustedClient(user_agent="test") as client:
        for _ in range(5):
            assert (await client.get(web.url)).body == b"ok"

        assert len(web.connections) == 1


async def test_a_connection_that_the_source_has_closed_is_not_used_again() -> None:
    async with keeping() as web, TrustedClient(user_agent="test") as client:
        await client.get(web.url)
        await web.hang_up()

        assert (await client.get(web.url)).body == b"ok"
        assert len(web.connections) == 2


async def test_a_kept_connection_leads_to_the_address_that_was_judged() -> None:
    zone = Zone({"acme.test": [(OPEN,), (CLOSED,)]})
    async with keeping() as web, guarded(web, zone) as client:
        for _ in range(3):  # robots.txt and a page, and two pages more
            assert (await client.get("http://acme.test/")).body == b"ok"
        assert zone.asked == ["acme.test"]
        assert len(web.connections) == 1

        await web.hang_up()
        with pytest.raises(Forbidden):  # whoever dials anew judges anew
            await client.get("http://acme.test/")


async def test_a_call_waits_for_a_connection_where_all_are_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS", 1)
    async with keeping() as web, TrustedClient(user_agent="test") as client:
        answers = await asyncio.gather(*(client.get(web.url) for _ in range(5)))

        assert [answer.body for answer in answers] == [b"ok"] * 5
        assert len(web.connections) == 1


async def test_what_comes_behind_an_answer_is_never_taken_for_the_next_one() -> None:
    """Also where it came in one piece with the answer, and is well-formed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
        writer.write(answer % (len(path), path) + answer % (6, b"POISON"))
        await reader.read()

    async with loopback_server(serve, OPEN) as port, TrustedClient(user_agent="test") as client:
        bodies = [
            (await client.get(f"http://{OPEN}:{port}{path}")).body
            for path in ("/a", "/b", "/c")
        ]

    assert bodies == [b"/a", b"/b", b"/c"]


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
#: Answers whose body is short, or has not begun when the limit is reached.
TOO_LARGE = {
    "hints": b"HTTP/1.1 103 Early Hints\r\n\r\n" * (FRAMING_BYTES // 28 + 1),
    "extensions of chunks": CHUNKED
    + (b"100;" + b"e" * 65_000 + b"\r\n" + b"a" * 256 + b"\r\n")
    * ((MAX_BYTES + FRAMING_BYTES) // 65_000 + 1),
    "chunks": CHUNKED + b"1\r\na\r\n" * (PARTS + 1) + b"0\r\n\r\n",
}


@pytest.mark.parametrize("name", TOO_LARGE)
async def test_an_answer_is_limited_by_all_that_comes(name: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(TOO_LARGE[name])
        await reader.read()

    async with loopback_server(serve, OPEN) as port, TrustedClient(user_agent="test") as client:
        with pytest.raises(Unreachable) as caught:
            await client.get(f"http://{OPEN}:{port}/")

    assert caught.value.why == "too-large"


async def test_calls_that_run_out_of_time_leave_no_connection_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS", 2)
    silent = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if not silent.is_set():
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read()

    async with (
        loopback_server(serve, OPEN) as port,
        TrustedClient(user_agent="test", total_s=0.5) as client,
    ):
        silent.set()
        whys = [error.why for error in await failures(client, f"http://{OPEN}:{port}/", 6)]
        silent.clear()
        answer = await client.get(f"http://{OPEN}:{port}/")

    assert whys == ["timeout"] * 6
    assert answer.body == b"ok"


async def failures(client: TrustedClient, url: str, number: int) -> list[Unreachable]:
    answers = await asyncio.gather(
        *(client.get(url) for _ in range(number)), return_exceptions=True
    )
    return [each for each in answers if isinstance(each, Unreachable)]
