"""An application, or the whole service in memory, on a port of this machine from a thread."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass
from functools import partial

from starlette.types import ASGIApp

from cs.http_server.serving import address, listen, serving
from harness.in_process import in_memory
from harness.outside import tools

START_S = 60.0


@dataclass(frozen=True)
class Port:
    """Where an application is served."""

    url: str
    address: tuple[str, int]
    listening: socket.socket


@asynccontextmanager
async def ports_of(
    *apps: ASGIApp, draining: asyncio.Event | None = None
) -> AsyncIterator[list[Port]]:
    """Serve *apps* in this loop until left, each on a port of its own, as one process does."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(listen("127.0.0.1", 0)) for _ in apps]
        pairs = [*zip(apps, sockets, strict=True)]
        async with serving(pairs, draining or asyncio.Event()):
            yield [Port(address(each), each.getsockname(), each) for each in sockets]


@asynccontextmanager
async def port_of(app: ASGIApp, draining: asyncio.Event | None = None) -> AsyncIterator[Port]:
    """Serve one application in this loop until left."""
    async with ports_of(app, draining=draining) as (port,):
        yield port


@contextmanager
def on_port(app: ASGIApp | AbstractAsyncContextManager[ASGIApp]) -> Iterator[str]:
    """Serve *app* until left; yield where it is reached.

    One that has to be opened first is opened and closed in the thread that serves it.
    """
    opened = app if isinstance(app, AbstractAsyncContextManager) else nullcontext(app)
    started: Future[tuple[str, Callable[[], object]]] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(opened, started)))
    thread.start()
    try:
        url, leave = started.result(START_S)
        try:
            yield url
        finally:
            leave()
    finally:
        thread.join()


async def _serve(
    opened: AbstractAsyncContextManager[ASGIApp],
    started: "Future[tuple[str, Callable[[], object]]]",
) -> None:
    left, loop = asyncio.Event(), asyncio.get_running_loop()
    try:
        async with opened as app, port_of(app) as port:
            started.set_result((port.url, partial(loop.call_soon_threadsafe, left.set)))
            await left.wait()
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)


@dataclass(frozen=True)
class MemoryService:
    """Where a service in memory is, with /v1, and the secrets of its keys."""

    base_url: str
    keys: tuple[str, ...]


@contextmanager
def memory_service(keys: int) -> Iterator[MemoryService]:
    """Serve one with so many *keys*, each with a large quota, until left."""
    secrets: list[str] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[ASGIApp]:
        async with in_memory(tools()) as service:
            secrets.extend([(await service.new_key(100_000)).key for _ in range(keys)])
            yield service.running.app

    with on_port(opened()) as url:
        yield MemoryService(f"{url}/v1", tuple(secrets))
