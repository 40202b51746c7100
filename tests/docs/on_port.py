"""An application that answers on a port of this machine from a thread."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from cs.http_server.serving import Server, address, listen


@contextmanager
def on_port(app: ASGIApp) -> Iterator[str]:
    """Serve *app* until left; yield where it is reached."""
    server = Server(uvicorn.Config(app, log_config=None, lifespan="off", access_log=False))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            yield address(listening)
        finally:
            server.should_exit = True
            thread.join()
