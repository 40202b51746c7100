"""A SOCKS5 server on loopback (RFC 1928, RFC 1929) that connects to the address it is given."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address

from harness.loopback_server import loopback_server

_BY_KIND = {1: 4, 4: 16}  # length of an address


@dataclass
class SocksServer:
    """What it was asked, and where it is.

    Attributes:
        reply: What it says to every request, if not what becomes of it (section 6).
        user: Who has to say so, and the password.
        added: Sent in one piece with the reply that the connection is there.
    """

    port: int = 0
    reply: int | None = None
    user: tuple[str, str] | None = None
    added: bytes = b""
    asked: list[tuple[str, int]] = field(default_factory=list)

    @property
    def url(self) -> str:
        user = f"{self.user[0]}:{self.user[1]}@" if self.user else ""
        return f"socks5://{user}127.0.0.1:{self.port}"


@asynccontextmanager
async def socks_server(**settings: object) -> AsyncIterator[SocksServer]:
    server = SocksServer(**settings)  # type: ignore[arg-type]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _talk(server, reader, writer)

    async with loopback_server(talk) as server.port:
        yield server


async def _talk(
    server: SocksServer,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    _, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    writer.write(bytes([5, 2 if server.user else 0]))
    if server.user:
        _, length = await reader.readexactly(2)
        name = (await reader.readexactly(length)).decode()
        (length,) = await reader.readexactly(1)
        password = (await reader.readexactly(length)).decode()
        good = (name, password) == server.user
        writer.write(bytes([1, not good]))
        if not good:
            return
    *_, kind = await reader.readexactly(4)
    host = str(ip_address(await reader.readexactly(_BY_KIND[kind])))  # a name is a KeyError
    port = int.from_bytes(await reader.readexactly(2), "big")
    server.asked.append((host, port))
    reply = server.reply
    try:
        beyond = await asyncio.open_connection(host, port) if reply is None else None
        reply = reply or 0
    except OSError:
        beyond, reply = None, 5
    writer.write(bytes([5, reply, 0, 1, *bytes(6)]) + (server.added if beyond else b""))
    if beyond is None:
        return
    await asyncio.gather(_pump(reader, beyond[1]), _pump(beyond[0], writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError), closing(writer):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
