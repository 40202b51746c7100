"""A relay on the way to an honest server: passes everything on, and adds bytes of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress

from harness.loopback_server import loopback_server


@asynccontextmanager
async def relay(
    port: int,
    *,
    at_once: bytes = b"",
    behind: tuple[bytes, bytes] = (b"", b""),
    connects: bool = False,
) -> AsyncIterator[int]:
    """Relay to *port* of 127.0.0.1; yield the port of the relay.

    Args:
        port: Of the honest server.
        at_once: Sent to each client as soon as it has connected.
        behind: Bytes of the server, and what is sent in one piece with them.
        connects: Whether it is an HTTP proxy, which answers CONNECT first; *behind* then
            follows its own ``200``.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(at_once)
        if connects:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + behind[1])
        beyond, onwards = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pump(reader, onwards), _pump(beyond, writer, behind))

    async with loopback_server(talk) as relays_at:
        yield relays_at


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    behind: tuple[bytes, bytes] = (b"", b""),
) -> None:
    after, added = behind
    with closing(writer), suppress(OSError):  # an error here would leave the other way running
        while data := await reader.read(65_536):
            writer.write(data + added if after and data.endswith(after) else data)
            await writer.drain()
