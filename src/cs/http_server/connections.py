"""Callers' connections: uvicorn's h11 protocol, with bounds on what one caller can use up."""

import asyncio
import resource
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from structlog import get_logger
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from cs.api.errors import ApiError
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: Time for the head of a call: from the connection on, then from its first byte on.
HEAD_S = 10.0
#: Time for a body.  The API allows less (`cs.api.time_limits`), and says so in its answer.
BODY_S = 30.0
#: How long a connection may stay without a call, or with an answer that is not read.
IDLE_S = 75
#: How many connections may be open only to be answered that all are in use, and how long each.
REFUSING_AT_ONCE = 16
REFUSAL_S = 1.0
#: Connections accepted in one turn: they are open before they can be counted.
ACCEPTS_AT_ONCE = 16
#: Bytes of a head, of a chunk's first line and of the trailers of a body.
MAX_HEAD = 16 * 1024
#: How many chunks of a body may be small: above one for each `CHUNK_BYTES` that have come.
#: h11 and uvicorn take some 30 µs for each.
MAX_SMALL_CHUNKS = 128
CHUNK_BYTES = 256
#: Bytes that are read from a connection at once, where asyncio reads 256 KiB, so that h11 sees
#: that a head is too long before it parses thousands of lines.
READ_BYTES = 1024
#: The most open files that are asked for; a process needs a connection for each held call.
MOST_DESCRIPTORS = 65_536
#: Open files left to the admin port, to databases, brokers, mail servers and the web: half
#: of those that are not open yet, and no more than this.
MOST_RESERVED = 1_024
#: Connections of the admin port, out of that reserve.
ADMIN_CONNECTIONS = 64
#: Between two lines of the log about a full port.
LOG_EVERY_S = 10.0
#: Answered, and logged, if a caller sends something that is not HTTP.
MALFORMED = "Invalid HTTP request received."
#: Answered to the first bytes of a TLS handshake.
PLAIN_PORT = "This port speaks HTTP without TLS; use http://, or the address of the proxy."
#: The content type of a TLS handshake record (RFC 8446 section 5.1).
_TLS_HANDSHAKE = b"\x16"

_CLOSE = (b"connection", b"close")

#: The answer to a caller when no connection is left.
FULL = ApiError(
    "at_capacity",
    "all connections are in use; try again in a few seconds",
    headers={"Retry-After": "5", "Connection": "close"},
).response()


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
        port: Name of the port, for the log.
    """

    def __init__(self, most: int, port: str) -> None:
        self.most = most
        self._port = port
        #: Those without a call, the one without for longest first.
        self.idle: dict[Connection, None] = {}
        self.refusing = 0
        self._closed = self._refused = 0
        self._throttle = LogThrottle(LOG_EVERY_S)

    def make_room(self) -> bool:
        """Close the connection that has made no call for longest; false if all make one."""
        longest = next(iter(self.idle), None)
        self._closed += longest is not None
        self._refused += longest is None
        if self._throttle.allow() is not None:
            log.warning(
                "connections_full",
                port=self._port,
                most=self.most,
                closed=self._closed,
                refused=self._refused,
            )
            self._closed = self._refused = 0
        if longest is None:
            return False
        del self.idle[longest]
        longest.transport.abort()
        return True


class ServerConfig(uvicorn.Config):
    """A configuration whose connections keep to *limit*."""

    def __init__(self, app: ASGIApp, limit: ConnectionLimit, **named: Any) -> None:
        super().__init__(
            app,
            http=BoundedReads,  # type: ignore[arg-type]  # made like uvicorn's own
            backlog=ACCEPTS_AT_ONCE,
            timeout_keep_alive=IDLE_S,
            reset_contextvars=True,  # a call may begin where the one before it ends
            **named,
        )
        self.limit = limit


class Parser(h11.Connection):
    """h11's parser; it also refuses a body whose end is in doubt, or of many small chunks."""

    def __init__(self) -> None:
        super().__init__(h11.SERVER, MAX_HEAD)
        self._small_chunks = 0.0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return the next event.

        Raises:
            h11.RemoteProtocolError: The bytes are not HTTP, or are refused.
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._small_chunks = 0.0
            named = {name for name, _ in event.headers}
            if event.http_version not in {b"1.0", b"1.1"}:
                raise h11.RemoteProtocolError("a version of HTTP that has another form")
            if b"transfer-encoding" in named and (
                b"content-length" in named or event.http_version == b"1.0"
            ):
                # A proxy may see another end of it (RFC 9112 section 6.1).
                raise h11.RemoteProtocolError("a body whose end is in doubt")
        elif isinstance(event, h11.Data):
            small = self._small_chunks + event.chunk_end - len(event.data) / CHUNK_BYTES
            self._small_chunks = max(0.0, small)
            if small > MAX_SMALL_CHUNKS:
                raise h11.RemoteProtocolError("a body of too many small chunks")
        return event

    def send(self, event: Any) -> Any:  # as h11 overloads it
        """Return the bytes of *event*; an answer that leaves a body unread is the last one."""
        if isinstance(event, h11.Response) and self.their_state is h11.SEND_BODY:
            headers = [each for each in event.headers if each[0] != _CLOSE[0]]
            event = h11.Response(
                status_code=event.status_code, headers=[*headers, _CLOSE], reason=event.reason
            )
        return super().send(event)


class Connection(H11Protocol):
    """One connection, which keeps to the limit of its port and to time limits.

    When all connections are in use, a new one replaces the connection that has been idle
    longest; if all of them have a call in hand, its call is answered 503.
    """

    def __init__(
        self,
        config: ServerConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = Parser()
        self._limit = config.limit
        self._refused = False
        #: Aborts the connection, and what for: the time limit, and the call that it is about.
        self._timer: asyncio.TimerHandle | None = None
        self._awaited: tuple[float | None, object] = (None, None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        full = len(self.connections) >= self._limit.most
        super().connection_made(transport)
        if full and not self._limit.make_room():
            self.app = FULL
            self._refused = True
            self._limit.refusing += 1
            if self._limit.refusing > REFUSING_AT_ONCE:
                transport.abort()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._limit.refusing -= self._refused
        self._refused = False
        self._watch()

    def data_received(self, data: bytes) -> None:
        if data.startswith(_TLS_HANDSHAKE) and self.conn.their_state is h11.IDLE:
            self.logger.warning(MALFORMED)
            self.send_400_response(PLAIN_PORT)
        else:
            super().data_received(data)
        self._watch()

    def send_400_response(self, msg: str) -> None:
        call: RequestResponseCycle | None = self.cycle
        if call is not None and not call.response_complete:
            call.disconnected = True
            call.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def _watch(self) -> None:
        """Note whether a call is in hand, and abort after the time of what is waited for."""
        call: RequestResponseCycle | None = self.cycle
        in_hand = call is not None and not call.response_complete
        if in_hand or self._refused or self not in self.connections:
            self._limit.idle.pop(self, None)
        else:
            self._limit.idle.setdefault(self)
        awaited = (self._time_limit(call), call)
        if awaited == self._awaited:
            return
        self._awaited = awaited
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if awaited[0] is not None:
            self._timer = self.loop.call_later(awaited[0], self.transport.abort)

    def _time_limit(self, call: RequestResponseCycle | None) -> float | None:
        """Return how long the caller has for its next step; ``None`` if it is the service's."""
        if self not in self.connections:
            return None
        if self._refused:
            return REFUSAL_S
        if self.flow.write_paused or self.transport.is_closing():
            return IDLE_S
        if call is not None and not call.response_complete:
            return BODY_S if self.conn.their_state is h11.SEND_BODY else None
        if call is None or self.conn.trailing_data[0]:
            return HEAD_S
        return 2 * IDLE_S  # uvicorn has closed it by then, unless its last answer is not read


class BoundedReads(asyncio.BufferedProtocol):
    """Hands a `Connection` the bytes that come, at most `READ_BYTES` at once."""

    #: Shared by all connections: each read is handed on before the next.
    _buffer = memoryview(bytearray(READ_BYTES))

    def __init__(self, *given: Any, **named: Any) -> None:
        connection = Connection(*given, **named)
        self._connection = connection
        self.connection_made = connection.connection_made  # type: ignore[method-assign, assignment]
        self.connection_lost = connection.connection_lost  # type: ignore[method-assign]
        self.pause_writing = connection.pause_writing  # type: ignore[method-assign]
        self.resume_writing = connection.resume_writing  # type: ignore[method-assign]

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - asyncio's signature
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._connection.data_received(bytes(self._buffer[:nbytes]))
