"""A TCP server on a loopback address that leaves nothing behind when it ends."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

Conversation = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def loopback_server(
    talk: Conversation,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """Run *talk* for each connection, and yield the port.

    On leaving, conversations that still run are cancelled and awaited: a task that outlives
    its test fails whichever test the garbage collector interrupts.
    """
    talks = set[asyncio.Task[None]]()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):  # the client hung up
                await talk(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            talks.discard(task)
            writer.close()

    server = await asyncio.start_server(run, host, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
