"""Hundreds of calls at one moment for next to nothing: HTTP/1.1 as our own nodes speak it.

`httpx` looks at every connection it has whenever it takes one: with hundreds of them the
caller would be what is measured.
"""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from typing import Any, NamedTuple

Connection = tuple[StreamReader, StreamWriter]
TIMEOUT_S = 30.0


class Answer(NamedTuple):
    status: int
    body: Any

    @property
    def told(self) -> str:
        """The status, or the code of the error."""
        return str(self.status) if self.status < 400 else str(self.body["error"]["code"])


class QuickCalls:
    """Sends each call to the next of *ports*, over a connection that is kept."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = cycle(ports)
        self._idle: dict[int, list[Connection]] = {port: [] for port in ports}

    async def get(self, path: str, **headers: str) -> Answer:
        return await self._call("GET", path, b"", headers)

    async def post(self, path: str, body: Any, **headers: str) -> Answer:
        return await self._call("POST", path, json.dumps(body).encode(), headers)

    async def _call(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        port = next(self._ports)
        async with asyncio.timeout(TIMEOUT_S):
            idle = self._idle[port]
            reader, writer = (
                idle.pop() if idle else await asyncio.open_connection("127.0.0.1", port)
            )
            lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
            head = [f"{method} {path} HTTP/1.1", "Host: localhost", *lines]
            head.append(f"Content-Length: {len(body)}")
            writer.write("\r\n".join([*head, "", ""]).encode() + body)
            answer = await _answer(reader)
        idle.append((reader, writer))
        return answer

    async def close(self) -> None:
        for connections in self._idle.values():
            for _, writer in connections:
                writer.close()
                await writer.wait_closed()


async def _answer(reader: StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    status, *lines = head.splitlines()
    told = dict(line.split(": ", 1) for line in lines if line)
    body = await reader.readexactly(int(told["content-length"]))
    return Answer(int(status.split()[1]), json.loads(body))


@asynccontextmanager
async def calling(ports: Sequence[int]) -> AsyncIterator[QuickCalls]:
    calls = QuickCalls(ports)
    try:
        yield calls
    finally:
        await calls.close()
