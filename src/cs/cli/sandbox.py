"""``cs sandbox run``: a made-up world by itself; and a service in one, for `cs demo`."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from cs import settings
from cs.admin.app import build as admin_app
from cs.admin.sandbox_clock import ClockAdvancer, SandboxClock
from cs.assembly.databases import keep_time, open_shared_time, open_stages_pool
from cs.assembly.folder import open_paid_calls, sandbox_clock
from cs.assembly.one_process import RunningService, run_embedded
from cs.assembly.plugins import open_plugins
from cs.assembly.sandbox_plugins import plugins_in_sandbox
from cs.assembly.sandbox_world import providers_url, run_sandbox
from cs.cli.command import Invocation, Output, command
from cs.cli.output import errors
from cs.http_server.serving import address, listen, on_signal, serving
from cs.operations.operator import Operator
from cs.paid_calls.budgets import UNLIMITED, Budgets
from cs.paid_calls.register import EVERY_TIME
from cs.plugins.stages import Stage
from cs.postgres.clock import DatabaseTime
from cs.runtime.private_files import temporary_folder
from cs.sandbox import ADAPTERS
from cs.sandbox.shapes import World
from cs.sandbox.world import load
from cs.settings import Settings

app = App(
    name="sandbox",
    help="Made-up worlds for a service that runs as several processes.",
)


@app.command
@command("config")
async def run(
    at: Invocation,
    world: Annotated[Path | None, Parameter(help="A world file, not the bundled one.")] = None,
    /,
    *,
    write: Annotated[Path, Parameter(help="File for the settings of its roles (TOML).")],
    providers: Annotated[bool, Parameter(help="Play providers with a key, too.")] = False,
) -> Output:
    """Run a world by itself, for a service that runs as several processes.

    The roles of that service are started with `--sandbox --config` and the file that this
    writes. Needs the setting stages_postgres: the sandbox's clock is there. With --providers
    that file also has the tables of the sources and verifiers with a key.

    Example: `cs sandbox run --write world.toml`
    """
    chosen, made_up = at.settings(), load(world)
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    at.entered(on_signal(starting.cancel))
    pool = await at.opened(open_stages_pool(chosen, "sandbox", "sandbox"))
    time = DatabaseTime(pool)
    await time.ask()
    shared = await open_shared_time(time, "sandbox", pool)
    assert isinstance(shared.clock, SandboxClock)
    await at.opened(keep_time(shared))
    folder = at.entered(temporary_folder(write.absolute().parent, "sandbox-"))
    pointed = await at.opened(
        run_sandbox(chosen, made_up, folder, shared.clock, providers=providers)
    )
    tables = write_settings(write, chosen, pointed, providers=providers)
    others = {name.rpartition(".")[0] for name in plugins_in_sandbox(chosen.plugins).shown()}
    if others := others - tables:
        names = ", ".join(sorted(others))
        errors.print(f"not in {write}, give them to the roles as variables: {names}")
    if providers:
        errors.print(f"the bill of the played providers: {providers_url(pointed)}/bill")
    ending = asyncio.Event()
    with on_signal(ending.set):
        errors.print(f"the world runs; its roles take --config {write} --sandbox")
        await ending.wait()
    return Output()


def write_settings(
    file: Path, chosen: Settings, pointed: Settings, *, providers: bool
) -> set[str]:
    """Write how *pointed* differs from *chosen* as TOML, all or nothing.

    With *providers* also the tables of what asks the played providers; return their names.
    """
    before, after = (
        msgspec.to_builtins(msgspec.structs.asdict(each), enc_hook=str)
        for each in (chosen, pointed)
    )
    changed = {n: v for n, v in after.items() if v != before[n] and n != "plugins"}
    tables = {
        f"{section}.{name}": getattr(pointed.plugins, section)[name]
        for section, names in (ADAPTERS if providers else {}).items()
        for name in names
    }
    lines = ["# Written by `cs sandbox run`: where this world is."]
    for name, table in {"": changed, **tables}.items():
        lines += [f"\n[{name}]"] if name else []
        lines += [f"{field} = {json.dumps(value)}" for field, value in table.items()]
    new = file.with_name(file.name + ".new")
    new.write_text("\n".join(lines) + "\n")
    new.replace(file)  # roles may be waiting for it
    return set(tables)


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
    console_url: str
    settings: Settings
    service: RunningService
    operator: Operator
    clock: SandboxClock
    clock_advancer: ClockAdvancer


@asynccontextmanager
async def sandbox_service(
    world: World,
    *,
    folder: Path | None = None,
    data_dir: Path | None = None,
    clock: SandboxClock | None = None,
    stages: Sequence[Stage] = (),
    providers: bool = False,
    budgets: Budgets = UNLIMITED,
) -> AsyncIterator[SandboxService]:
    """Serve *world*; SIGTERM and SIGINT cancel the calling task.

    Settings come from their defaults alone: nothing here may reach the real outside.

    Args:
        world: The outside world.
        folder: Holds ``data`` and certificates; by default one that is removed afterwards.
        data_dir: The data, if it is elsewhere.
        clock: Of service and world; by default that of the data.
        stages: Do the work of stages of the service.
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
        data = data_dir or folder / "data"
        given = {"data_dir": data, "port": 0, "admin_port": 0, **asked}
        chosen = settings.load(environment={}, given=given)
        api_socket = stack.enter_context(listen(chosen.host, chosen.port))
        admin_socket = stack.enter_context(listen(chosen.admin_host, chosen.admin_port))
        clock = clock or sandbox_clock(chosen.data_dir)
        chosen = await stack.enter_async_context(
            run_sandbox(chosen, world, folder / "certificates", clock, providers=providers)
        )
        opened = stack.enter_async_context
        paid = await opened(open_paid_calls(chosen)) if providers else EVERY_TIME
        tools = await opened(
            open_plugins(chosen, clock, paid, budgets=budgets, world="sandbox")
        )
        if stages:
            tools = msgspec.structs.replace(tools, stages=stages)
        service = await opened(run_embedded(chosen, tools, "sandbox", clock))
        assert service.clock_advancer is not None, "a sandbox's clock can be moved"
        admin = admin_app(service.ready, console=service.console), admin_socket
        await opened(serving([(service.app, api_socket)], service.api.draining, admin=admin))
        yield SandboxService(
            f"{address(api_socket)}/v1",
            f"{address(admin_socket)}/console/",
            chosen,
            service,
            Operator(service.streams, clock),
            clock,
            service.clock_advancer,
        )
