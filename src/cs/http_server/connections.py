"""Callers' connections: how many there may be, how long a head may take, what is refused.

Uvicorn bounds none of it: sockets on which nothing is sent would use up the process's open
files, and with them its own calls, its databases' and whoever asks how it is.
"""

import asyncio
import math
import resource
import time
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from structlog import get_logger
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from cs.api.errors import ApiError

log = get_logger()

#: How long the head of a call may take: from the connection on, then from its first byte on.
HEAD_S = 10.0
#: The most open files that are asked for; a process needs a connection for each held call.
MOST_DESCRIPTORS = 65_536
#: Open files left to the admin port, to databases, brokers, mail servers and the web: half
#: of those that are not open yet, and no more than this.
MOST_RESERVED = 1_024
#: Connections of the admin port, out of that reserve.
ADMIN_CONNECTIONS = 64
#: Connections taken at a time: they are open before anybody can count them.
ACCEPTS_AT_ONCE = 16
#: How many refusals are on their way at a time, and how long each may take to be read.
#: To close at once would take the answer back if the caller has sent anything (RFC 9112
#: section 9.6).
REFUSING_AT_ONCE = 16
REFUSAL_S = 1.0
#: Between two lines of the log about a full port.
LOG_EVERY_S = 10.0


def free_descriptors() -> int:
    """Allow this process as many open files as it may have; return how many are left."""
    return _raised() - len(list(Path("/proc/self/fd").iterdir()))


def _raised() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_DESCRIPTORS
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return max(soft, wanted)


def connections_of(free: int) -> tuple[int, int]:
    """Return how many connections the API and the admin port may have of *free* open files.

    >>> [connections_of(free) for free in (100, 1_000, 65_000)]
    [(50, 12), (500, 64), (63976, 64)]
    """
    reserved = min(free // 2, MOST_RESERVED)
    return max(1, free - reserved), max(1, min(ADMIN_CONNECTIONS, reserved // 4))


class ConnectionLimit:
    """How many connections one port has, and which of them make no call.

    Args:
        most: How many it may have.
        port: What the port is, for the log.
    """

    def __init__(self, most: int, port: str) -> None:
        self.most = most
        self._port = port
        #: Those without a call, the one without for longest first.
        self.idle: dict[Connection, None] = {}
        self.refusing = 0
        self._closed = self._refused = 0
        self._logged_at = -math.inf

    def make_room(self) -> bool:
        """Close the connection that has made no call for longest; false if all make one."""
        longest = next(iter(self.idle), None)
        self._closed += longest is not None
        self._refused += longest is None
        if (now := time.monotonic()) - self._logged_at >= LOG_EVERY_S:
            log.warning(
                "connections_full",
                port=self._port,
                most=self.most,
                closed=self._closed,
                refused=self._refused,
            )
            self._logged_at, self._closed, self._refused = now, 0, 0
        if longest is None:
            return False
        del self.idle[longest]
        longest.transport.abort()
        return True


class ServerConfig(uvicorn.Config):
    """A configuration whose connections keep to *limit*."""

    def __init__(self, app: ASGIApp, limit: ConnectionLimit, **named: Any) -> None:
        named |= {"http": Connection, "backlog": ACCEPTS_AT_ONCE}
        super().__init__(app, **named)
        self.limit = limit


class Connection(H11Protocol):
    """One connection, which keeps to the limit of its port.

    Who comes when all are in use takes the place of the one that has made no call for
    longest; if all of them make one, it is answered 503 and closed.
    """

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        assert config.h11_max_incomplete_event_size is not None
        self.conn = StrictConnection(h11.SERVER, config.h11_max_incomplete_event_size)
        self._limit = config.limit
        self._ending: asyncio.TimerHandle | None = None  # of a head, or of one turned away
        self._turned_away = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        full = len(self.connections) >= self._limit.most
        super().connection_made(transport)
        if full and not self._limit.make_room():
            self._turn_away()
            return
        self._limit.idle[self] = None
        self._ending = self.loop.call_later(HEAD_S, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._limit.idle.pop(self, None)
        self._limit.refusing -= self._turned_away
        self._turned_away = False
        self._unset_ending()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._turned_away:
            super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Note whether a call is made, and since when the head of one is awaited."""
        call: RequestResponseCycle | None = self.cycle
        if call is not None and not call.response_complete:
            self._limit.idle.pop(self, None)
            self._unset_ending()
            return
        if self not in self.connections:
            return  # it is gone
        # Also one that closes once its answer is read: that may be never.
        self._limit.idle.setdefault(self)
        begun = self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]
        if begun and self._ending is None and not self.transport.is_closing():
            self._ending = self.loop.call_later(HEAD_S, self.transport.close)

    def _turn_away(self) -> None:
        if self._limit.refusing >= REFUSING_AT_ONCE:
            self.transport.abort()
            return
        self._limit.refusing += 1
        self._turned_away = True
        self.transport.write(FULL)
        self.transport.write_eof()
        self._ending = self.loop.call_later(REFUSAL_S, self.transport.abort)

    def _unset_ending(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None


class StrictConnection(h11.Connection):
    """Refuses a call whose end a proxy before us may see elsewhere (RFC 9112 section 6.1)."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            framing = {name for name, _ in event.headers} & {
                b"content-length",
                b"transfer-encoding",
            }
            if len(framing) == 2:
                raise h11.RemoteProtocolError("Content-Length beside Transfer-Encoding")
            if framing == {b"transfer-encoding"} and event.http_version < b"1.1":
                raise h11.RemoteProtocolError("Transfer-Encoding in HTTP/1.0")
        return event


def _full() -> bytes:
    message = "all connections are in use; try again in a few seconds"
    body = bytes(ApiError("at_capacity", message).response().body)
    return (
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        b"Retry-After: 5\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
    ) % (len(body), body)


#: What a caller is told for whom no connection is left.
FULL = _full()
