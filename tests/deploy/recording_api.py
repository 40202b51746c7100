"""A server that records what the proxy sends, with answers that a test chooses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from cs.sandbox.dns import Zone, name_server
from cs.sandbox.servers import listening

Writer = asyncio.StreamWriter
#: Writes the answer to one call; when it returns the connection is closed.
Answer = Callable[[Writer], Awaitable[None]]

#: In which a call gets here through the proxy, also on a machine that is busy.
ARRIVES_S = 30.0

OK = b"HTTP/1.1 200 OK\r\nX-Request-Id: req_ours\r\nContent-Length: 2\r\n\r\nok"


async def fine(writer: Writer) -> None:
    writer.write(OK)


async def nothing(_: Writer) -> None:
    """Hang up on the caller."""


class RecordingApi:
    """Every call, as (first line, headers, body)."""

    def __init__(self, answer: Answer = fine) -> None:
        self.answer = answer
        self.calls: list[tuple[str, dict[str, str], bytes]] = []
        self.called = asyncio.Event()

    @asynccontextmanager
    async def at(self, host: str, port: int) -> AsyncIterator[None]:
        async with listening(self._serve, [host], port):
            yield

    async def wait_called(self, call: "asyncio.Task[Any]") -> None:
        """Return when *call*, which is made meanwhile, has got here; once for each server.

        Raises:
            AssertionError: It ended without, or takes too long: the message has its end.
        """
        arrival = asyncio.create_task(self.called.wait())
        await asyncio.wait(
            {arrival, call}, timeout=ARRIVES_S, return_when=asyncio.FIRST_COMPLETED
        )
        arrival.cancel()
        if not self.called.is_set():
            call.cancel()
            raise AssertionError(f"no call got to the API in {ARRIVES_S:.0f} s: {call}")

    async def _serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.split(": ", 1) for line in head[1:] if line)
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.calls.append((head[0], headers, body))
        self.called.set()
        await self.answer(writer)
        await writer.drain()
        writer.close()


class _Copies(Zone):
    """Names an address of each copy of the API."""

    def __init__(self, addresses: Sequence[str]) -> None:
        super().__init__()
        self.host("api", addresses[0])
        self._copies = list(addresses)

    def _records(self, name: str, kind: object) -> list[str]:
        return self._copies if (name, kind) == ("api", 1) else []


def names_of_api(addresses: Sequence[str], port: int) -> AbstractAsyncContextManager[object]:
    """Serve the DNS on *port*, in which the API is at *addresses*."""
    return name_server(_Copies(addresses).respond, "127.0.0.1", port)
