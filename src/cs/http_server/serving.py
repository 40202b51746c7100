"""Serving the API and the admin port, and leaving without losing a caller."""

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp
from structlog import get_logger

from cs.http_server.connections import (
    MALFORMED,
    ConnectionLimit,
    ServerConfig,
    connections_of,
    free_descriptors,
)
from cs.http_server.errors import CannotListen
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: How long open calls get to finish once the service leaves: they take milliseconds, held
#: ones are answered at once, and the rest is a body that never ends.  Then they are cut off.
GRACE_S = 1.0
#: How long a call that is cut off gets to end, which is signalled twice: code that releases a
#: connection to a database that hangs goes on waiting at the first time.
CUT_S = 0.3
#: How long connections then get to close.
CLOSE_S = 1
#: Lines of the log a second about calls that are not HTTP.
MALFORMED_PER_S = 10
#: Connections that may wait to be taken.
BACKLOG = 2048
#: Warnings of uvicorn about a caller that offers another protocol, which it may (RFC 9110
#: section 7.8): nothing is wrong, and what it advises is not for this service.
_OFFERS = ("Unsupported upgrade request.", "No supported WebSocket library detected.")


def listen(host: str, port: int, *, what: str = "port") -> socket.socket:
    """Return a socket listening at *host*, *port* (0: any free one).

    *what* is the setting that the port comes from, for the message.

    Raises:
        CannotListen: The port is taken or not ours to take, or the host is none of ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's algorithm off only then:
    # without it every answer on a kept connection took 40 ms longer (measured).
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        listening.close()
        raise CannotListen(_why(host, port, what, error)) from error
    return listening


def address(listening: socket.socket) -> str:
    """Return where *listening* is reached, as a URL without a path."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _why(host: str, port: int, what: str, error: Exception) -> str:
    option = "--" + what.replace("_", "-")
    match getattr(error, "errno", None):
        case errno.EADDRINUSE:
            return f"port {port} of {host} is in use; choose another with {option}, 0: any free"
        case errno.EACCES | errno.EPERM:
            return (
                f"this user may not listen on port {port} of {host}; choose one from 1024 on "
                f"with {option}, 0: any free"
            )
        case _:
            setting = what.replace("port", "host")
            return (
                f"cannot listen on {host}: {getattr(error, 'strerror', None) or error}; "
                f"{setting} is an address of this machine, like 127.0.0.1 or 0.0.0.0"
            )


class Server(uvicorn.Server):
    """Uvicorn without its own signal handlers: several run in one process."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # asyncio made it as short as what it takes at a time

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def refuse(self) -> None:
        """Take no more connections; those that are open stay."""
        if self.started:
            for server in self.servers:
                server.close()

    async def cut_off(self) -> None:
        """Cancel the calls that are still open, which are answered as that, and end."""
        self.force_exit = True
        for _ in range(2):
            open_calls = set(self.server_state.tasks)
            for call in open_calls:
                call.cancel()
            if open_calls:
                await asyncio.wait(open_calls, timeout=CUT_S)


class ServerLog(logging.Handler):
    """Uvicorn's messages, as lines of our own log."""

    def __init__(self) -> None:
        super().__init__()
        self._malformed = LogThrottle(1.0, MALFORMED_PER_S)

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        message = record.getMessage()
        if isinstance(error, asyncio.CancelledError) or message.startswith(_OFFERS):
            return  # a connection cut at the end, or nothing
        more = self._malformed.allow() if message == MALFORMED else {}
        if more is not None:
            log.log(record.levelno, "http_server", said=message, exc_info=error, **more)


@contextmanager
def on_signal(act: Callable[[], object]) -> Iterator[None]:
    """Call *act* at SIGTERM and SIGINT until left; after that they end the process."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)
    for number in numbers:
        loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@asynccontextmanager
async def serving(
    apps: Sequence[tuple[ASGIApp, socket.socket]],
    draining: asyncio.Event,
    *,
    admin: tuple[ASGIApp, socket.socket] | None = None,
) -> AsyncIterator[None]:
    """Serve *apps*, and *admin* on connections of its own, until left.

    Leaving takes no more connections, sets *draining*, so that held calls are answered
    (contract H14), and cuts off after `GRACE_S` what is open yet.
    """
    most, most_of_admin = connections_of(free_descriptors())
    served = [(*each, ConnectionLimit(most, "api")) for each in apps]
    if admin is not None:
        served.append((*admin, ConnectionLimit(most_of_admin, "admin")))
    servers = [Server(_config(app, limit)) for app, _, limit in served]
    server_log = logging.getLogger("uvicorn.error")
    server_log.handlers, server_log.propagate = [ServerLog()], False
    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(server.serve(sockets=[listening]), name="server")
            for server, (_, listening, _) in zip(servers, served, strict=True)
        ]
        try:
            yield
        finally:
            for server in servers:
                # Before the loop has thousands of answers to give: a connection that is
                # refused can be made elsewhere, one without a server breaks.
                server.refuse()
                server.should_exit = True
            draining.set()
            # Here, because the group itself would cancel them if it is left by an error.
            await asyncio.wait(running, timeout=GRACE_S)
            await asyncio.gather(*(server.cut_off() for server in servers))
            await asyncio.wait(running)


def _config(app: ASGIApp, limit: ConnectionLimit) -> ServerConfig:
    return ServerConfig(
        app,
        limit=limit,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=CLOSE_S,
    )
