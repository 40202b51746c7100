"""An end to a call and its answer, however slowly that comes in.

httpx bounds the silence between two parts of an answer, so one that trickles outlasts any
time-out.  In asyncio ``asyncio.timeout`` ends it.  What blocks until the next byte cannot look
at a clock, so another thread closes its connection.
"""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from threading import Lock, Timer
from types import MappingProxyType
from typing import Any

import httpx

from cs.client.wire import TOO_SLOW


class AsyncDeadline:
    """Ends calls of one client.

    Attributes:
        extensions: What each of its requests is made with (httpx).
    """

    extensions: Mapping[str, Any] = MappingProxyType({})

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """End the call inside *seconds* after it began.

        Raises:
            httpx.ReadTimeout: It was not over by then.
        """
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise httpx.ReadTimeout(TOO_SLOW) from error


class Deadline:
    """Ends calls of one client, which makes one at a time.

    So the connection that a call uses is the one that was opened last.

    Attributes:
        extensions: What each of its requests is made with (httpx).
    """

    def __init__(self) -> None:
        self.extensions: Mapping[str, Any] = {"trace": self._trace}
        self._lock = Lock()
        self._connection: socket.socket | None = None
        self._running: object | None = None
        self._late = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """End the call inside *seconds* after it began.

        Raises:
            httpx.ReadTimeout: On leaving: it was not over by then.
        """
        call, until = object(), time.monotonic() + seconds
        with self._lock:
            self._running, self._late = call, False
        timer = Timer(seconds, self._end, (call,))
        timer.daemon = True
        timer.start()
        try:
            yield
        except httpx.HTTPError as error:
            # Silence may end the call before the thread that is to hang up has its turn.
            if self._finish() or time.monotonic() >= until:
                raise httpx.ReadTimeout(TOO_SLOW) from error
            raise
        else:
            # An answer that ends with the connection looks whole when that is hung up.
            if self._finish():
                raise httpx.ReadTimeout(TOO_SLOW)
        finally:
            self._finish()
            timer.cancel()

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        """Take note of the connection of a call: httpx's request extension ``trace``."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._lock:
                self._connection = info["return_value"].get_extra_info("socket")
                if self._late:
                    self._close_connection()

    def _finish(self) -> bool:
        """End what runs in time, unless it is late; return whether it is."""
        with self._lock:
            self._running = None
            return self._late

    def _end(self, call: object) -> None:
        with self._lock:
            if self._running is call:
                self._late = True
                self._close_connection()

    def _close_connection(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # closed already
                # Of TLS too it is the connection below that ends, whatever is being read.
                socket.socket.shutdown(self._connection, socket.SHUT_RDWR)
