"""``cs serve``: the whole service in one process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.folder import open_paid_calls, sandbox_clock
from cs.assembly.folder_keys import folder_of
from cs.assembly.one_process import run_embedded
from cs.assembly.people_directory import kept_directory, open_directory
from cs.assembly.plugins import open_plugins
from cs.assembly.process import RunningRole, open_traces
from cs.assembly.sandbox_plugins import sandbox_notices
from cs.assembly.service_checks import open_budgets
from cs.cli.command import Invocation, Output, command
from cs.cli.output import errors, stop, warn
from cs.cli.roles import run_process
from cs.domain.service import World
from cs.metrics.metrics import Metrics
from cs.runtime.clock import SystemClock
from cs.runtime.private_files import temporary_folder
from cs.settings import BadSettings, Settings

#: Points settings at a made-up world that runs until left; its certificates are in the folder,
#: and it goes by the clock.
RunWorld: TypeAlias = Callable[
    [Settings, Path, SandboxClock], AbstractAsyncContextManager[Settings]
]


@command("data_dir", "config")
def serve(
    at: Invocation,
    world: Annotated[Path | None, Parameter(help="With --sandbox: a world file.")] = None,
    /,
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on.")] = None,
    port: Annotated[int | None, Parameter(help="Port of the API; 0: any free one.")] = None,
    admin_port: Annotated[
        int | None, Parameter(help="Port for health checks; 0: any free one.")
    ] = None,
    sandbox: Annotated[
        bool, Parameter(help="Talk to a made-up world on this machine.")
    ] = False,
    providers: Annotated[
        bool, Parameter(help="With --sandbox: the world plays providers with a key.")
    ] = False,
) -> Output:
    """Run the service: API, stages and views in one process, on SQLite.

    With --sandbox it talks to a small outside world on this machine (the bundled one, or
    the world file given) instead of the internet: brands, people and mail servers are made
    up, everything else is real. docs/sandbox.md says what can be searched there.
    With --providers that world also plays Brave, Serper, Hunter, People Data Labs, Apollo
    and six verifiers, which take play money; their bill is at the address it prints.

    It needs a key to be called: `cs keys create --data-dir DIR`.
    SIGTERM and Ctrl-C answer the held calls and end it, with exit code 0.

    Example: `cs serve --sandbox --data-dir /tmp/cs-try`
    """
    if world is not None and not sandbox:
        stop("a world file goes with --sandbox; without it the service asks the real world", 2)
    if providers and not sandbox:
        stop("--providers goes with --sandbox: the real ones take their keys in settings", 2)
    chosen = at.settings(host=host, port=port, admin_port=admin_port)
    if chosen.postgres is not None:
        raise BadSettings(
            "postgres: a service in one process keeps its data in a folder; unset it, or run "
            "the roles: cs api, cs relay, cs process-manager, cs project, cs stage NAME"
        )
    enter = _sandbox(world, providers=providers) if sandbox else None
    serve_in(chosen, enter, providers=providers)
    return Output()


def _sandbox(world: Path | None, *, providers: bool) -> RunWorld:
    """Return what runs the world of the file *world*; ``None`` is the bundled one."""
    # Imported here: a live service starts sooner without a made-up world.
    from cs.assembly.sandbox_world import run_sandbox  # noqa: PLC0415
    from cs.sandbox.world import load  # noqa: PLC0415

    loaded = load(world)
    return lambda chosen, folder, clock: run_sandbox(
        chosen, loaded, folder, clock, providers=providers
    )


def serve_in(chosen: Settings, enter: RunWorld | None, *, providers: bool = False) -> None:
    """Serve in the world that *enter* runs; without one in the live world."""
    folder = str(chosen.data_dir).replace("{", "{{").replace("}", "}}")
    run_process(
        f"the service on {chosen.data_dir}",
        chosen,
        partial(_run, chosen, enter, providers=providers),
        calls=True,
        sandbox=enter is not None,
        runs=f"serving {{api}}/v1, health at {{admin}}/readyz, data in {folder}",
        leaves="leaving: held calls are answered, running searches go on at the next start",
        advice="running searches go on at the next start",
    )


@asynccontextmanager
async def _run(
    given: Settings, enter: RunWorld | None, *, providers: bool
) -> AsyncIterator[RunningRole]:
    """Run the service in the world that *enter* runs, in the live one without."""
    world: World = "live" if enter is None else "sandbox"
    chosen, clock = given, None
    async with AsyncExitStack() as stack:
        opened = stack.enter_async_context
        if enter is not None:
            clock = sandbox_clock(given.data_dir)
            parent = folder_of(given).path
            certificates = stack.enter_context(temporary_folder(parent, "sandbox-"))
            chosen = await opened(enter(given, certificates, clock))
        metrics = Metrics(await opened(open_traces(chosen, "serve")))
        directory = await opened(open_directory(chosen, world, "serve"))
        await opened(kept_directory(directory, chosen, clock or SystemClock()))
        paid = await opened(open_paid_calls(chosen, metrics))
        budgets = await opened(open_budgets(chosen, world))
        plugins = await opened(
            open_plugins(
                chosen,
                clock,
                paid,
                budgets=budgets,
                directory=directory,
                world=world,
                metrics=metrics,
            )
        )
        service = await opened(
            run_embedded(chosen, plugins, world, clock, metrics, budgets=budgets)
        )
        if enter is not None:
            notices = sandbox_notices(given, plugins.names, providers=providers)
            if providers:
                # Imported here: a live service starts sooner without.
                from cs.assembly.sandbox_world import providers_url  # noqa: PLC0415

                notices.append(
                    f"the bill of the played providers: {providers_url(chosen)}/bill"
                )
            if notices:
                errors.print(f"sandbox: {'; '.join(notices)}")
        for name, why in plugins.misconfiguration.reasons.items():
            warn(f"{name}: {why}")
        yield service
