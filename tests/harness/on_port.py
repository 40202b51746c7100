"""An application, or the whole service in memory, on a port of this machine from a thread."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import (
    AbstractAsyncContextManager,
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
        with listen("127.0.0.1", 0) as listening:
            async with opened as app, serving([(app, listening)], asyncio.Event()):
                url = address(listening)
                started.set_result((url, partial(loop.call_soon_threadsafe, left.set)))
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
