"""``cs serve``: the whole service in one process."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias

from cyclopts import Parameter
from structlog import get_logger

from cs.admin.app import build as admin_app
from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.embedded import clock_advance, run_embedded
from cs.assembly.folder_clock import sandbox_clock
from cs.assembly.folder_paid_calls import open_paid_calls
from cs.assembly.people_directory import open_asked_directory, status_if_readable
from cs.assembly.plugins import open_plugins
from cs.assembly.sandbox_plugins import sandbox_notices
from cs.assembly.service_budgets import open_budgets
from cs.assembly.setup_lines import setup_lines
from cs.assembly.traces import open_traces
from cs.cli.errors import USAGE_ERRORS, USER_ERRORS, leaf_errors
from cs.cli.fault_injection import arm_faults
from cs.cli.options import Config, DataDir
from cs.cli.output import errors, stop, warn
from cs.cli.settings_in_force import settings
from cs.cli.temporary_folder import temporary_folder
from cs.domain.service import World
from cs.eventlog.errors import LogUnavailable
from cs.http_server.serving import address, listen, on_signal, serving
from cs.metrics.metrics import Metrics
from cs.runtime import event_loop, logs
from cs.runtime.data_folder import DataFolder
from cs.runtime.garbage import collect_seldom
from cs.runtime.redaction import without_secrets
from cs.settings import BadSettings, Settings

log = get_logger()

#: Points settings at a made-up world that runs for as long as the stack lasts; its
#: certificates are in the folder, and it goes by the clock.
EnterWorld: TypeAlias = Callable[
    [AsyncExitStack, Settings, Path, SandboxClock], Awaitable[Settings]
]


def serve(
    world: Annotated[Path | None, Parameter(help="With --sandbox: a world file.")] = None,
    /,
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on.")] = None,
    port: Annotated[int | None, Parameter(help="Port of the API; 0: any free one.")] = None,
    admin_port: Annotated[
        int | None, Parameter(help="Port for health checks; 0: any free one.")
    ] = None,
    sandbox: Annotated[
        bool, Parameter(negative="", help="Talk to a made-up world on this machine.")
    ] = False,
    providers: Annotated[
        bool,
        Parameter(negative="", help="With --sandbox: the world plays providers with a key."),
    ] = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Run the service: API, stages and views in one process, on SQLite.

    With --sandbox it talks to a small outside world on this machine (the bundled one, or
    the world file given) instead of the internet: brands, people and mail servers are made
    up, everything else is real. `cs sandbox list` shows what can be searched there.
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
    chosen = settings(config, host=host, port=port, admin_port=admin_port, data_dir=data_dir)
    if chosen.postgres is not None:
        raise BadSettings(
            "postgres: a service in one process keeps its data in a folder; unset it, or run "
            "the roles: cs api, cs relay, cs process-manager, cs project, cs stage NAME"
        )
    logs.configure(chosen.log_level, chosen.log_format, chosen.secrets())
    arm_faults(sandbox=sandbox)
    try:
        enter = _sandbox(world, providers=providers) if sandbox else None
        event_loop.run(run(chosen, enter, providers=providers))
    except Exception as error:
        cause = next(leaf_errors(error))
        can_be_mended = isinstance(cause, USER_ERRORS + USAGE_ERRORS)
        if can_be_mended and not isinstance(cause, LogUnavailable):
            raise
        log.critical("service_failed", exc_info=error)
        said = (
            f"the service on {chosen.data_dir} has ended, {type(cause).__name__}: {cause}; "
            "running searches go on at the next start"
        )
        stop(without_secrets(said, chosen.secrets()))


def _sandbox(world: Path | None, *, providers: bool) -> EnterWorld:
    """Return what enters the world of the file *world*; ``None`` is the bundled one."""
    # Imported here: a live service starts sooner without a made-up world.
    from cs.cli.sandbox_service import enter_world  # noqa: PLC0415
    from cs.sandbox.world import load  # noqa: PLC0415

    return partial(enter_world, load(world), providers=providers)


async def run(
    chosen: Settings, enter: EnterWorld | None = None, *, providers: bool = False
) -> None:
    """Serve until SIGTERM or SIGINT; while it starts they cancel it.

    With *enter* it is a sandbox, in the world that is entered, and that plays the providers
    with a key or not.
    """
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    without_world = chosen
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(starting.cancel))
        api_socket = stack.enter_context(listen(chosen.host, chosen.port))
        admin_socket = stack.enter_context(
            listen(chosen.admin_host, chosen.admin_port, what="admin_port")
        )
        clock = None
        if enter is not None:
            clock = sandbox_clock(chosen.data_dir)
            data = DataFolder(chosen.data_dir)
            certificates = stack.enter_context(temporary_folder(data.path, "sandbox-"))
            chosen = await enter(stack, chosen, certificates, clock)
        world: World = "live" if enter is None else "sandbox"
        metrics = Metrics(await stack.enter_async_context(open_traces(chosen, "serve")))
        paid = await stack.enter_async_context(open_paid_calls(chosen, metrics))
        budgets = await stack.enter_async_context(open_budgets(chosen, world))
        directory = await stack.enter_async_context(open_asked_directory(chosen, world, clock))
        plugins = await stack.enter_async_context(
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
        notices: list[str] = []
        if enter is not None:
            notices = sandbox_notices(without_world, plugins.names, providers=providers)
        if providers:
            # Imported here: a live service starts sooner without.
            from cs.assembly.played_providers import providers_url  # noqa: PLC0415

            notices.append(f"the bill of the played providers: {providers_url(chosen)}/bill")
        if notices:
            errors.print(f"sandbox: {'; '.join(notices)}")
        service = await stack.enter_async_context(
            run_embedded(chosen, plugins, world, clock, metrics)
        )
        people = await status_if_readable(directory)
        for line in setup_lines(chosen, plugins, people) if enter is None else ():
            errors.print(line)
        for name, why in plugins.misconfiguration.reasons.items():
            warn(f"{name}: {why}")
        advancer = clock_advance(service, clock) if clock else None
        names = {chosen.admin_host, *chosen.admin_names}
        admin = admin_app(service.ready, advancer, names, service.measures, service.bounces)
        await stack.enter_async_context(
            serving(
                [(service.app, api_socket)],
                service.api.draining,
                admin=(admin, admin_socket),
            )
        )
        collect_seldom()
        leaving = asyncio.Event()
        with on_signal(leaving.set):
            errors.print(
                f"serving {address(api_socket)}/v1, health at {address(admin_socket)}/readyz, "
                f"data in {chosen.data_dir}"
            )
            await leaving.wait()
        errors.print(
            "leaving: held calls are answered, running searches go on at the next start"
        )
