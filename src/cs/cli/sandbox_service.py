"""A service in a made-up world in this process, for demonstrations and tests."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from cs import settings
from cs.admin.sandbox_clock import ClockAdvancer, SandboxClock
from cs.assembly.folder import open_paid_calls, sandbox_clock
from cs.assembly.one_process import RunningService, clock_advance, run_embedded
from cs.assembly.plugins import StagePlugins, open_plugins
from cs.assembly.sandbox_world import providers_url, run_sandbox
from cs.http_server.serving import address, listen, on_signal, serving
from cs.operations.operator import Operator
from cs.paid_calls.budgets import UNLIMITED, Budgets
from cs.paid_calls.paid import EVERY_TIME, PaidCalls
from cs.runtime.private_files import temporary_folder
from cs.sandbox import ADAPTERS
from cs.sandbox.shapes import World
from cs.settings import Settings

#: The plug-ins of a sandbox, named so that no other one reaches the real outside; and those
#: that ask the played providers.
FREE: Mapping[str, tuple[str, ...]] = {
    "brand_sources": ("wikidata", "website"),
    "people_sources": ("searxng",),
    "verifiers": ("smtp",),
}
PAID: Mapping[str, tuple[str, ...]] = {
    "brand_sources": ("pdl", "serper"),
    "people_sources": tuple(ADAPTERS["sources"]),
    "verifiers": tuple(ADAPTERS["verifiers"]),
}


class SandboxService(msgspec.Struct, frozen=True):
    """A service that runs in a made-up world; *base_url* ends in ``/v1``."""

    base_url: str
    settings: Settings
    service: RunningService
    operator: Operator
    clock: SandboxClock
    clock_advancer: ClockAdvancer
    providers_url: str | None = None


@asynccontextmanager
async def sandbox_service(
    world: World,
    *,
    folder: Path | None = None,
    clock: SandboxClock | None = None,
    around: Callable[[StagePlugins], StagePlugins] = lambda tools: tools,
    providers: bool = False,
    budgets: Budgets = UNLIMITED,
) -> AsyncIterator[SandboxService]:
    """Serve *world*; SIGTERM and SIGINT cancel the calling task.

    Settings come from their defaults alone: nothing here may reach the real outside.

    Args:
        world: The outside world.
        folder: Holds ``data`` and certificates; by default one that is removed afterwards.
        clock: Of service and world; by default that of the data.
        around: Wraps or replaces the plug-ins of the stages.
        providers: Play the sources and verifiers with a key, too; calls to them are made
            once, and counted in *budgets*.
        budgets: Where they are counted.
    """
    caller = asyncio.current_task()
    assert caller is not None, "runs in a task"
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(caller.cancel))
        if folder is None:
            parent = Path(tempfile.gettempdir())
            folder = stack.enter_context(temporary_folder(parent, "cs-sandbox-"))
        asked = {name: free + (PAID[name] if providers else ()) for name, free in FREE.items()}
        given = {"data_dir": folder / "data", "port": 0, **asked}
        chosen = settings.load(environment={}, given=given)
        api_socket = stack.enter_context(listen(chosen.host, chosen.port))
        clock = clock or sandbox_clock(chosen.data_dir)
        chosen = await stack.enter_async_context(
            run_sandbox(chosen, world, folder / "certificates", clock, providers=providers)
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
            chosen,
            service,
            Operator(service.streams, clock),
            clock,
            clock_advance(service, clock),
            providers_url(chosen) if providers else None,
        )
