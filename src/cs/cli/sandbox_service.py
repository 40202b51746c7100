"""A service in a made-up world in this process, for demonstrations, proofs and tests."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec

from cs import settings
from cs.admin.sandbox_clock import ClockAdvancer, SandboxClock
from cs.assembly.folder import open_paid_calls, sandbox_clock
from cs.assembly.one_process import RunningService, clock_advance, run_embedded
from cs.assembly.plugins import StagePlugins, open_plugins
from cs.assembly.sandbox_world import providers_url, run_sandbox
from cs.http_server.serving import address, listen, on_signal, serving
from cs.operations.operator import Operator
from cs.paid_calls.budgets.port import UNLIMITED, Budgets
from cs.paid_calls.paid import EVERY_TIME, PaidCalls
from cs.runtime.private_files import temporary_folder
from cs.sandbox.providers.adapters import ADAPTERS
from cs.sandbox.shapes import World
from cs.settings import Settings

#: What asks where nothing may reach the real outside, which plug-ins of others might; and
#: what asks the played providers, too.
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
#: Real time between two checks of a search that outlasted its hold: 120 a minute are allowed.
CHECK_S = 1.0


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
        world: What is outside.
        folder: Holds ``data`` and certificates; by default one that is removed afterwards.
        clock: Of service and world; by default that of the data.
        around: Changes or watches what the stages ask with.
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


def client_of(base_url: str) -> httpx.AsyncClient:
    """Return a client of *base_url* for any number of searches that wait."""
    return httpx.AsyncClient(
        base_url=base_url,
        timeout=100,
        limits=httpx.Limits(max_connections=None),
        trust_env=False,  # a proxy for the outside has no part in this
    )


async def search_to_end(
    client: httpx.AsyncClient, key: str, brand: str | None, domain: str | None = None
) -> dict[str, Any]:
    """Return the Search record of a search for *brand* or *domain*, once it has ended.

    Raises:
        httpx.HTTPError: The service refuses, or does not answer.
    """
    headers = {"Authorization": f"Bearer {key}"}
    named = {"brand": brand, "domain": domain}
    body = {name: value for name, value in named.items() if value}
    answer = await client.post("/contacts", json={**body, "wait": True}, headers=headers)
    record: dict[str, Any] = answer.raise_for_status().json()
    while record["status"] == "running":
        await asyncio.sleep(CHECK_S)
        answer = await client.get(f"/searches/{record['id']}", headers=headers)
        record = answer.raise_for_status().json()
    return record
