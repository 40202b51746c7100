"""A connection that breaks at the worst moment: when the server has done what it was asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

#: ReadyForQuery, outside a transaction: all before it is committed.
_READY = b"Z\x00\x00\x00\x05I"
#: CommandComplete of a statement that gave a row.
_SELECTED = b"SELECT 1\x00"


class CuttingProxy:
    """Passes everything on until `armed`; then the next answer with a row is lost.

    Attributes:
        passing: While it is not set, what the server is sent is held back.
    """

    def __init__(self, dsn: str) -> None:
        self._parts = urlsplit(dsn)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.armed = False
        self.passing = asyncio.Event()
        self.passing.set()
        self.lost = 0
        self._port = 0

    @property
    def dsn(self) -> str:
        where = f"{self._parts.username}@127.0.0.1:{self._port}"
        return self._parts._replace(netloc=where).geturl()

    async def open(self) -> None:
        """Take connections, at the same port as before."""
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    def shut(self) -> None:
        """Take no more connections."""
        assert self._server is not None
        self._server.close()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._parts.hostname, self._parts.port)
        self._writers |= {writer, back}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._asked(reader, back))
                tasks.create_task(self._answered(there, writer))
        finally:
            self._writers -= {writer, back}
            writer.transport.abort()
            back.transport.abort()

    async def _asked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await _some(reader):
            await self.passing.wait()
            writer.write(data)
        writer.transport.abort()

    async def _answered(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await _some(reader):
            if self.armed and _SELECTED in data and data.endswith(_READY):
                self.armed = False
                self.lost += 1
                break
            writer.write(data)
        writer.transport.abort()


async def _some(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(65536)
    except OSError:
        return b""


@asynccontextmanager
async def cutting_proxy(dsn: str) -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy(dsn)
    await proxy.open()
    try:
        yield proxy
    finally:
        proxy.shut()
        proxy.cut()
