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
from cs.assembly.folder_paid_calls import open_paid_calls
from cs.assembly.one_process import RunningService
from cs.assembly.played_providers import providers_url
from cs.assembly.plugins import StagePlugins, open_plugins
from cs.assembly.sandbox_world import run_sandbox
from cs.http_server.errors import CannotListen
from cs.http_server.serving import address, listen, on_signal, serving
from cs.operations.operator import Operator
from cs.paid_calls.budgets.port import UNLIMITED, Budgets
from cs.paid_calls.paid import EVERY_TIME, PaidCalls
from cs.runtime.private_files import temporary_folder
from cs.sandbox.providers.adapters import ADAPTERS
from cs.sandbox.shapes import World
from cs.settings import Settings

#: What asks where nothing may reach the real outside: plug-ins of others might.
OURS_ONLY = {
    "brand_sources": ("wikidata", "website"),
    "people_sources": ("searxng",),
    "verifiers": ("smtp",),
}


#: The same where the world plays the providers with a key.
OURS_AND_PLAYED = {
    "brand_sources": (*OURS_ONLY["brand_sources"], "pdl", "serper"),
    "people_sources": (*OURS_ONLY["people_sources"], *ADAPTERS["sources"]),
    "verifiers": (*OURS_ONLY["verifiers"], *ADAPTERS["verifiers"]),
}


class SandboxService(msgspec.Struct, frozen=True):
    base_url: str  # with /v1
    service: RunningService
    operator: Operator
    clock: SandboxClock
    clock_advancer: OneProcessClockAdvancer
    providers_url: str | None = None


@asynccontextmanager
async def sandbox_service(
    world: World,
    *,
    port: int = 0,
    around: Callable[[StagePlugins], StagePlugins] = lambda tools: tools,
    providers: bool = False,
    budgets: Budgets = UNLIMITED,
) -> AsyncIterator[SandboxService]:
    """Serve *world* from a folder that is gone afterwards; *around* may watch its tools.

    SIGTERM and SIGINT cancel the calling task.

    Settings come from their defaults alone: nothing here may reach the real outside.  With
    *providers* the world plays the sources and verifiers with a key, too, and calls to them
    are made once and counted in *budgets*.
    """
    caller = asyncio.current_task()
    assert caller is not None, "runs in a task"
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(caller.cancel))
        temporary = Path(tempfile.gettempdir())
        folder = stack.enter_context(temporary_folder(temporary, "cs-sandbox-"))
        asked = OURS_AND_PLAYED if providers else OURS_ONLY
        given = {"data_dir": folder / "data", **asked}
        chosen = settings.load(environment={}, given=given)
        api_socket = stack.enter_context(listen(chosen.host, port))
        clock = sandbox_clock(chosen.data_dir)
        certificates = folder / "certificates"
        chosen = await enter_world(
            world, stack, chosen, certificates, clock, providers=providers
        )
        paid: PaidCalls = EVERY_TIME
        if providers:
            paid = await stack.enter_async_context(open_paid_calls(chosen))
        tools = await stack.enter_async_context(
            open_plugins(chosen, clock, paid, budgets=budgets, world="sandbox")
        )
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
            providers_url(chosen) if providers else None,
        )


async def enter_world(
    world: World,
    stack: AsyncExitStack,
    chosen: Settings,
    folder: Path,
    clock: SandboxClock,
    *,
    providers: bool = False,
) -> Settings:
    """Start *world* for as long as *stack* lasts; return *chosen* pointed at it.

    With *providers* it plays the sources and verifiers with a key, too.

    Raises:
        CannotListen: This machine lacks the loopback addresses that it needs.
    """
    try:
        return await stack.enter_async_context(
            run_sandbox(chosen, world, folder, clock, providers=providers)
        )
    except OSError as error:
        raise CannotListen(
            f"the sandbox world cannot start: {error}; "
            "it needs the addresses 127.x.y.z of this machine (docs/sandbox.md)"
        ) from error
