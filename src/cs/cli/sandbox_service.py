"""A whole service in its sandbox world, for as long as a command needs one."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from cs import settings
from cs.clock import SystemClock
from cs.operator import Operator
from cs.sandbox.shapes import World
from cs.serving import listen, serving
from cs.wiring import RunningService, Tools, embedded, outside, sandboxed


class SandboxService(msgspec.Struct, frozen=True):
    base_url: str  # with /v1
    service: RunningService
    operator: Operator
    leaving: asyncio.Event  # set by Ctrl-C and SIGTERM


@asynccontextmanager
async def sandbox_service(
    world: World, *, port: int = 0, around: Callable[[Tools], Tools] = lambda tools: tools
) -> AsyncIterator[SandboxService]:
    """Serve *world* from a folder that is gone afterwards; *around* may watch its tools.

    Settings come from their defaults alone: nothing here may reach the real outside.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="cs-")))
        chosen = settings.load(environment={}, given={"data_dir": folder / "data"})
        api_socket = stack.enter_context(listen(chosen.host, port))
        chosen = await stack.enter_async_context(
            sandboxed(chosen, world, folder / "certificates")
        )
        tools = await stack.enter_async_context(outside(chosen))
        service = await stack.enter_async_context(embedded(chosen, around(tools), "sandbox"))
        leaving = await stack.enter_async_context(
            serving([(service.app, api_socket)], service.api.draining)
        )
        host, bound = api_socket.getsockname()[:2]
        yield SandboxService(
            f"http://{host}:{bound}/v1",
            service,
            Operator(service.streams, SystemClock()),
            leaving,
        )
