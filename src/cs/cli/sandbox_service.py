"""A whole service in its sandbox world, for as long as a command needs one."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from cs import settings
from cs.admin.clock_advance import OneProcessClockAdvancer
from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.embedded import clock_advance, run_embedded
from cs.assembly.folder_clock import sandbox_clock
from cs.assembly.one_process import RunningService
from cs.assembly.plugins import StagePlugins, open_plugins
from cs.assembly.sandbox_world import run_sandbox
from cs.cli.temporary_folder import temporary_folder
from cs.http_server.errors import CannotListen
from cs.http_server.serving import address, listen, on_signal, serving
from cs.operations.operator import Operator
from cs.sandbox.shapes import World
from cs.settings import Settings

#: What asks where nothing may reach the real outside: plug-ins of others might.
OURS_ONLY = {
    "brand_sources": ("wikidata", "website"),
    "people_sources": ("searxng",),
    "verifiers": ("smtp",),
}


class SandboxService(msgspec.Struct, frozen=True):
    base_url: str  # with /v1
    service: RunningService
    operator: Operator
    clock: SandboxClock
    clock_advancer: OneProcessClockAdvancer


@asynccontextmanager
async def sandbox_service(
    world: World,
    *,
    port: int = 0,
    around: Callable[[StagePlugins], StagePlugins] = lambda tools: tools,
) -> AsyncIterator[SandboxService]:
    """Serve *world* from a folder that is gone afterwards; *around* may watch its tools.

    SIGTERM and SIGINT cancel the calling task.

    Settings come from their defaults alone: nothing here may reach the real outside.
    """
    caller = asyncio.current_task()
    assert caller is not None, "runs in a task"
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(caller.cancel))
        temporary = Path(tempfile.gettempdir())
        folder = stack.enter_context(temporary_folder(temporary, "cs-sandbox-"))
        given = {"data_dir": folder / "data", **OURS_ONLY}
        chosen = settings.load(environment={}, given=given)
        api_socket = stack.enter_context(listen(chosen.host, port))
        clock = sandbox_clock(chosen.data_dir)
        chosen = await enter_world(world, stack, chosen, folder / "certificates", clock)
        tools = await stack.enter_async_context(open_plugins(chosen, clock, world="sandbox"))
        service = await stack.enter_async_context(
            run_embedded(chosen, around(tools), "sandbox", clock)
        )
        await stack.enter_async_context(
            serving([(service.app, api_socket)], service.api.draining)
        )
        yield SandboxService(
            f"{address(api_socket)}/v1",
            service,
            Operator(service.streams, clock),
            clock,
            clock_advance(service, clock),
        )


async def enter_world(
    world: World, stack: AsyncExitStack, chosen: Settings, folder: Path, clock: SandboxClock
) -> Settings:
    """Start *world* for as long as *stack* lasts; return *chosen* pointed at it.

    Raises:
        CannotListen: This machine lacks the loopback addresses that it needs.
    """
    try:
        return await stack.enter_async_context(run_sandbox(chosen, world, folder, clock))
    except OSError as error:
        raise CannotListen(
            f"the sandbox world cannot start: {error}; "
            "it needs the addresses 127.x.y.z of this machine (docs/sandbox.md)"
        ) from error
