"""Calls over a few kept connections, as fast as the answers come.

A protocol by itself instead of an HTTP client, so that the caller is not what is measured:
each connection sends its next call when the last answer is whole.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

#: Connections at once.
CONNECTIONS = 16


class Unexpected(Exception):
    """An answer had another status than the one that is measured."""


@dataclass
class Took:
    """What calls took, and the processor time of the service for them, if it was measured."""

    times_s: list[float]
    total_s: float
    cpu_s: float = 0.0

    def __add__(self, other: "Took") -> "Took":
        return Took(self.times_s + other.times_s, self.total_s + other.total_s)

    @property
    def cpu_ms(self) -> float:
        """Of one call."""
        return self.cpu_s / len(self.times_s) * 1000

    @property
    def per_s(self) -> float:
        return len(self.times_s) / self.total_s

    def quantile_ms(self, share: float) -> float:
        return sorted(self.times_s)[int(share * (len(self.times_s) - 1))] * 1000


def call(method: str, path: str, key: str = "", body: bytes = b"") -> bytes:
    """Return a whole HTTP/1.1 request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


class _Caller(asyncio.Protocol):
    def __init__(self, calls: Iterator[bytes], status: int, times_s: list[float]) -> None:
        self._calls = calls
        self._status = b" %d " % status
        self._times_s = times_s
        self._answer = bytearray()
        self._sent_at = 0.0
        self._transport: asyncio.Transport | None = None
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by its class
        self._next()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        end = self._answer.find(b"\r\n\r\n")
        if end < 0 or len(self._answer) < end + 4 + _length(self._answer[:end]):
            return
        self._times_s.append(time.perf_counter() - self._sent_at)
        if self._status not in self._answer[:16]:
            self._end(Unexpected(self._answer.decode()))
            return
        self._answer.clear()
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionError("the server closed the connection"))

    def _next(self) -> None:
        assert self._transport is not None
        request = next(self._calls, None)
        if request is None:
            self._end(None)
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def _end(self, error: Exception | None) -> None:
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)
        if self._transport is not None:
            self._transport.close()


def cpu_s(pid: int) -> float:
    """Return the processor time of all threads of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(
    url: str, calls: Sequence[bytes], status: int = 200, pid: int | None = None
) -> Took:
    """Make all *calls* to *url*'s host and port, which the process *pid* serves.

    Raises:
        Unexpected: An answer had another status than *status*.
    """
    where = urlsplit(url)
    assert where.hostname
    assert where.port
    host, port = where.hostname, where.port
    times_s: list[float] = []
    left = iter(calls)
    loop = asyncio.get_running_loop()
    before_s, began = cpu_s(pid) if pid else 0.0, time.perf_counter()
    callers = []
    for _ in range(CONNECTIONS):
        _, caller = await loop.create_connection(
            lambda: _Caller(left, status, times_s), host, port
        )
        callers.append(caller)
    await asyncio.gather(*(caller.done for caller in callers))
    total_s = time.perf_counter() - began
    return Took(times_s, total_s, cpu_s(pid) - before_s if pid else 0.0)


def _length(head: bytearray) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
