"""The whole service in memory, answering on a port of this machine from a thread."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from cs.http_server.serving import Server, address, listen
from system.loop.outside import tools
from system.loop.service import in_memory


@dataclass(frozen=True)
class Served:
    base_url: str  # with /v1
    keys: tuple[str, ...]


@contextmanager
def served(keys: int) -> Iterator[Served]:
    """Serve until left; *keys* is how many API keys there are, each with a large quota."""
    started: Future[Served] = Future()
    left = asyncio.Event()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(
        target=loop.run_until_complete, args=(_serve(keys, started, left),), name="served"
    )
    thread.start()
    try:
        yield started.result(timeout=60)
    finally:
        loop.call_soon_threadsafe(left.set)
        thread.join()
        loop.close()


async def _serve(keys: int, started: "Future[Served]", left: asyncio.Event) -> None:
    try:
        async with in_memory(tools()) as service:
            made = [await service.new_key(quota=100_000) for _ in range(keys)]
            with listen("127.0.0.1", 0) as listening:
                app = service.running.app
                server = Server(
                    uvicorn.Config(app, log_config=None, lifespan="off", access_log=False)
                )
                serving = asyncio.create_task(server.serve([listening]))
                secrets = tuple(key.key for key in made)
                started.set_result(Served(f"{address(listening)}/v1", secrets))
                await left.wait()
                server.should_exit = True
                await serving
    except BaseException as error:
        if started.done():
            raise
        started.set_exception(error)
