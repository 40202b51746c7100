"""Connections to sources: kept, given up and dialled; and what a call costs besides."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.machinery import ModuleSpec
from ipaddress import IPv4Network
from types import ModuleType

import httpcore
import pytest

from cs.outside import pooled_transport
from cs.outside.asyncio_backend import AsyncioBackend, first_to_answer
from cs.outside.guard import Guard
from cs.outside.http import GuardedClient, TrustedClient
from cs.outside.port import Forbidden
from outside.loopback_web import Zone

OPEN, CLOSED = "127.81.0.1", "127.82.0.1"


class KeepingServer:
    """Answers any number of requests on a connection, and counts connections."""

    def __init__(self) -> None:
        self.connections: list[asyncio.StreamWriter] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://{OPEN}:{self.port}/"

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


@asynccontextmanager
async def keeping() -> AsyncIterator[KeepingServer]:
    web = KeepingServer()
    server = await asyncio.start_server(web.serve, OPEN, 0)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
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


class Lookups:
    """Notes every module that Python looks for and has not."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        del path, target
        self.names.append(name)
        return None


async def test_no_call_looks_for_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = Lookups()
    async with keeping() as web, TrustedClient(user_agent="test") as client:
        await client.get(web.url)
        monkeypatch.setattr(sys, "meta_path", [lookups, *sys.meta_path])
        await client.get(web.url)

    assert lookups.names == []


async def test_where_one_address_of_a_name_is_dead_the_next_one_is_dialled() -> None:
    async with keeping() as web:
        connection = await first_to_answer([CLOSED, OPEN], web.port)

        assert connection.get_extra_info("server_addr") == (OPEN, web.port)
        await connection.aclose()


async def test_where_no_address_answers_the_reason_is_told() -> None:
    async with keeping() as web:
        with pytest.raises(httpcore.ConnectError, match="refused"):
            await AsyncioBackend().connect_tcp(CLOSED, web.port)


async def test_who_is_silent_is_not_waited_for_longer_than_asked() -> None:
    async with keeping() as web:
        stream = await AsyncioBackend().connect_tcp(OPEN, web.port, timeout=5)
        with pytest.raises(httpcore.ReadTimeout):
            await stream.read(1_000, timeout=0.01)
        await stream.write(b"GET / HTTP/1.1\r\n\r\n", timeout=5)
        assert (await stream.read(8, timeout=5)) == b"HTTP/1.1"
        assert (await stream.read(1_000, timeout=5)).endswith(b"ok")
        await stream.aclose()


async def test_only_so_many_idle_connections_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooled_transport, "IDLE_CONNECTIONS", 2)
    async with keeping() as web, TrustedClient(user_agent="test") as client:
        for dialled in (5, 8):  # of the second five, two go over what was kept
            await asyncio.gather(*(client.get(web.url) for _ in range(5)))
            assert len(web.connections) == dialled


async def test_a_call_waits_for_a_connection_where_all_are_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pooled_transport, "CONNECTIONS", 1)
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
        writer.close()

    server = await asyncio.start_server(serve, OPEN, 0)
    url = f"http://{OPEN}:{server.sockets[0].getsockname()[1]}"
    async with server, TrustedClient(user_agent="test") as client:
        bodies = [(await client.get(f"{url}{path}")).body for path in ("/a", "/b", "/c")]

    assert bodies == [b"/a", b"/b", b"/c"]


async def test_connections_that_are_being_dialled_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pooled_transport, "CONNECTIONS", 6)
    open_at_once = 0
    async with keeping() as one, keeping() as other, TrustedClient(user_agent="test") as client:
        await asyncio.gather(*(client.get(one.url) for _ in range(4)))
        await asyncio.gather(*(client.get(other.url) for _ in range(6)))
        open_at_once = sum(not each.is_closing() for each in one.connections)
        open_at_once += sum(not each.is_closing() for each in other.connections)

    assert len(other.connections) == 6
    assert open_at_once <= 6
