"""A service with many held calls that is told to leave, seen from its callers."""

import asyncio
import signal
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from harness.served import Served

#: Their mail servers say nothing for longer than any test takes.
ENDLESS = ("Zephrine", "Quellmark")
#: Calls made at once; the next ones follow when these are admitted.
_AT_ONCE = 100

_ADMITTED = "SELECT count(*) FROM stored_events WHERE topic LIKE 'key.search-admitted.%'"


@dataclass(frozen=True)
class Answer:
    """What a caller got until its connection was closed."""

    raw: bytes
    at: float  # seconds of `time.monotonic`

    @property
    def status(self) -> int:
        return int(self.raw[9:12]) if self.raw.startswith(b"HTTP/1.1 ") else 0

    @property
    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = msgspec.json.decode(self.raw.partition(b"\r\n\r\n")[2])
        return body


@dataclass(frozen=True)
class Left:
    """How a service left; times in seconds after the signal."""

    answers: Sequence[Answer]
    last_answer_s: float
    ended_s: float
    code: int


class _Caller(asyncio.Protocol):
    def __init__(self, request: bytes) -> None:
        self._request = request
        self._received = bytearray()
        self._at = 0.0
        self.done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._at = time.monotonic()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # what came before it counts
        self.done.set_result(Answer(bytes(self._received), self._at))


async def left_while_holding(service: Served, keys: Sequence[str]) -> Left:
    """Hold two calls of each of *keys*, then send SIGTERM."""
    loop = asyncio.get_running_loop()
    host, port = service.address

    async def call(request: bytes) -> _Caller:
        _, caller = await loop.create_connection(lambda: _Caller(request), host, port)
        return caller

    async def answered(request: bytes) -> Answer:
        return await (await call(request)).done

    # The service hears of the newest key, and so of all: few unknown ones are looked up.
    await answered(_request(keys[-1], "GET", "/v1/usage"))
    requests = [_request(key, "POST", "/v1/contacts", b) for key in keys for b in ENDLESS]
    callers: list[_Caller] = []
    for n in range(0, len(requests), _AT_ONCE):
        callers += [await call(request) for request in requests[n : n + _AT_ONCE]]
        await _until_admitted(service.folder, callers)
    await answered(_request(keys[0], "GET", "/v1/usage"))

    began = time.monotonic()
    service.send(signal.SIGTERM)
    ending = asyncio.create_task(asyncio.to_thread(_ended, service))
    answers = await asyncio.gather(*(caller.done for caller in callers))
    ended_at, code = await ending
    last = max(answer.at for answer in answers)
    return Left(answers, last - began, ended_at - began, code)


def _request(key: str, method: str, path: str, brand: str = "") -> bytes:
    head = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {key}"]
    body = b""
    if brand:
        body = msgspec.json.encode({"brand": brand, "wait": True})
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    else:
        head.append("Connection: close")
    return "\r\n".join([*head, "", ""]).encode() + body


async def _until_admitted(folder: Path, callers: Sequence[_Caller]) -> None:
    """Wait until all of *callers* are, and none was answered."""
    waiting = [caller.done for caller in callers]
    with closing(sqlite3.connect(folder / "log.db")) as data:
        while data.execute(_ADMITTED).fetchone()[0] < len(callers):
            early, _ = await asyncio.wait(
                waiting, timeout=0.02, return_when=asyncio.FIRST_COMPLETED
            )
            assert [call.result().raw for call in early] == []


def _ended(service: Served) -> tuple[float, int]:
    code = service.wait(30)
    return time.monotonic(), code
