"""Serving the API and the admin port, and leaving without losing a caller."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

#: How long open connections get to finish once the service leaves.
GRACE_S = 10


class CannotListen(Exception):
    """The port cannot be had; the message says why and what to do."""


def listen(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """Return a socket listening at *host*, *port* (0: any free one).

    Raises:
        CannotListen: The port is taken, or not ours to take.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's algorithm off only then:
    # without it every answer on a kept connection took 40 ms longer (measured).
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise CannotListen(
            f"cannot listen on {host} port {port}: {error.strerror or error}; "
            f"choose another port with {option}, 0 for any free one"
        ) from error
    return listening


class Server(uvicorn.Server):
    """Uvicorn without its own signal handlers: several run in one process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(
    apps: Sequence[tuple[ASGIApp, socket.socket]], draining: asyncio.Event
) -> AsyncIterator[asyncio.Event]:
    """Serve *apps* until left; yield an event that is set by SIGTERM or SIGINT.

    The signal sets *draining* at once, so that held calls are answered before the
    connections close (CONTRACT.md H14).
    """
    leaving = asyncio.Event()
    servers = [Server(_config(app)) for app, _ in apps]

    def leave() -> None:
        draining.set()
        leaving.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    try:
        async with asyncio.TaskGroup() as tasks:
            for server, (_, listening) in zip(servers, apps, strict=True):
                tasks.create_task(server.serve(sockets=[listening]), name="server")
            try:
                yield leaving
            finally:
                draining.set()
                for server in servers:
                    server.should_exit = True
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=64 * 1024,
    )
