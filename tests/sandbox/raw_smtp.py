"""An SMTP client that sends what it is given and returns what it receives."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class RawSmtp:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def read_reply(self) -> str:
        """Return one whole reply, its lines joined by a bar."""
        lines: list[str] = []
        while True:
            raw = await self._reader.readline()
            if not raw:
                raise EOFError("|".join(lines))
            lines.append(raw.decode().rstrip("\r\n"))
            if lines[-1][3:4] != "-":
                return "|".join(lines)

    async def say(self, *lines: str) -> list[str]:
        self.writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self.writer.drain()
        return [await self.read_reply() for _ in lines]

    async def start_tls(self, context: ssl.SSLContext) -> None:
        await self.writer.start_tls(context, server_hostname="mail")

    async def rcpt(self, *addresses: str) -> list[str]:
        """Greet, name a sender and ask for *addresses*; return the replies to RCPT."""
        await self.read_reply()
        await self.say("EHLO probe.test", "MAIL FROM:<check@probe.test>")
        return await self.say(*(f"RCPT TO:<{address}>" for address in addresses))


@asynccontextmanager
async def smtp(host: str, port: int) -> AsyncIterator[RawSmtp]:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        yield RawSmtp(reader, writer)
    finally:
        writer.transport.abort()
