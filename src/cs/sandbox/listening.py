"""Listening sockets whose connections are counted, bounded and ended with them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

#: Returns after so many seconds of whatever clock the world goes by.
Sleep = Callable[[float], Awaitable[object]]

_MAX_CONNECTIONS = 256
_MAX_LINE = 8 * 1024
_CLOSING_S = 1.0


@asynccontextmanager
async def listening(
    serve: Connected,
    hosts: Sequence[str],
    port: int,
    *,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Serve TCP connections to *port* of every one of *hosts* until left.

    A connection beyond 256 is closed at once.  *serve* ends a connection by returning;
    what the network does to it (`OSError`, an over-long line) ends it quietly.

    Raises:
        OSError: A port is taken, or a host is no address of this machine.
    """
    running: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError, ValueError):
                await serve(reader, writer)
        finally:
            await _close(writer)

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(running) >= _MAX_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(one(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    if not hosts:
        yield
        return
    server = await asyncio.start_server(
        connected, list(hosts), port, ssl=tls, limit=_MAX_LINE, backlog=64
    )
    try:
        yield
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await server.wait_closed()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    try:
        async with asyncio.timeout(_CLOSING_S):
            await writer.wait_closed()
    except TimeoutError:
        writer.transport.abort()
    except OSError:
        pass  # the other side has cut it; a TLS transport may not be aborted after that
    except asyncio.CancelledError:
        writer.transport.abort()
        raise
