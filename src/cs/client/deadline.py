"""An end to an exchange of the blocking client, however slowly its answer comes in.

httpx bounds the silence between two parts of an answer, so one that trickles outlasts any
time-out, and what waits for its next byte cannot look at a clock.  So another thread hangs
up.  (In asyncio ``asyncio.timeout`` does all of this.)
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Timer
from typing import Any

import httpx

from cs.client.wire import TOO_SLOW


class Deadline:
    """Ends exchanges of one client, which makes one at a time.

    So the connection that an exchange uses is the one that was opened last.
    """

    def __init__(self) -> None:
        self._turn = Lock()
        self._connection: socket.socket | None = None
        self._running: object | None = None
        self._late = False

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """End the exchange inside *seconds* after it began.

        Raises:
            httpx.ReadTimeout: On leaving: it was not over by then.
        """
        exchange = object()
        with self._turn:
            self._running, self._late = exchange, False
        timer = Timer(seconds, self._end, (exchange,))
        timer.daemon = True
        timer.start()
        try:
            yield
        except httpx.HTTPError as error:
            if self._over():
                raise httpx.ReadTimeout(TOO_SLOW) from error
            raise
        else:
            # An answer that ends with the connection looks whole when that is hung up.
            if self._over():
                raise httpx.ReadTimeout(TOO_SLOW)
        finally:
            self._over()
            timer.cancel()

    def traced(self, event: str, told: dict[str, Any]) -> None:
        """Hear what an exchange does: httpx's request extension ``trace``."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._turn:
                self._connection = told["return_value"].get_extra_info("socket")
                if self._late:
                    self._hang_up()

    def _over(self) -> bool:
        """End what runs in time, unless it is late; return whether it is."""
        with self._turn:
            self._running = None
            return self._late

    def _end(self, exchange: object) -> None:
        with self._turn:
            if self._running is exchange:
                self._late = True
                self._hang_up()

    def _hang_up(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # closed already
                # Of TLS too it is the connection below that ends, whatever is being read.
                socket.socket.shutdown(self._connection, socket.SHUT_RDWR)
