"""``cs api``, ``relay``, ``process-manager``, ``project``, ``stage``: one role a process.

A command imports its own role when it is called, and no other.
"""

import asyncio
import gc
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from structlog import get_logger

from cs.admin.app import build as admin_app
from cs.assembly.process import RunningRole
from cs.cli.command import Invocation, Output, command
from cs.cli.errors import USAGE_ERRORS, USER_ERRORS, first_cause
from cs.cli.output import errors, stop
from cs.domain.service import World
from cs.domain.stages.table import OWN_STAGES
from cs.http_server.serving import address, listen, on_signal, serving
from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.runtime import failpoints, logs
from cs.runtime.coordination import in_background
from cs.runtime.redaction import without_secrets
from cs.settings import BadSettings, Settings

log = get_logger()

Run = Callable[[Settings, World], AbstractAsyncContextManager[RunningRole]]

on_config = command("config")
#: Names alone: no package is loaded.
_STAGES = (*OWN_STAGES, *names_of(installed_plugins(Group.EXTRA_STAGES)))


@Parameter(name="*")
@dataclass(frozen=True)
class RoleOptions:
    admin_port: Annotated[
        int | None, Parameter(help="Port for health checks; 0: any free one.")
    ] = None
    sandbox: Annotated[
        bool, Parameter(help="Belong to a sandbox: `cs sandbox run` is its world.")
    ] = False


ANY = RoleOptions()


@on_config
def api(
    at: Invocation,
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on.")] = None,
    port: Annotated[int | None, Parameter(help="Port of the API; 0: any free one.")] = None,
    role: RoleOptions = ANY,
) -> Output:
    """Answer calls: one role of a service that runs as several processes.

    Any number may run behind a proxy; none keeps anything to itself. Needs the settings
    postgres, keys_postgres and master_key_file (docs/deploy.md). The
    other roles are `cs relay`, `cs process-manager`, `cs project` and `cs stage NAME`;
    `cs serve` is all of them in one process.

    Example: `CS_POSTGRES=postgresql://cs@db/cs cs api --port 8080`
    """
    from cs.assembly.roles import run_api  # noqa: PLC0415

    return run_role(at, "api", role, run_api, host=host, port=port)


@on_config
def relay(at: Invocation, *, role: RoleOptions = ANY) -> Output:
    """Publish issued work to Kafka: one role of a service that runs as several processes.

    One leads, the others wait to take over within five seconds. Needs the settings
    postgres, keys_postgres, master_key_file and kafka.

    Example: `cs relay --admin-port 8091`
    """
    from cs.assembly.roles import run_relay  # noqa: PLC0415

    return run_role(at, "relay", role, run_relay)


@on_config
def process_manager(at: Invocation, *, role: RoleOptions = ANY) -> Output:
    """Record what stages answer, and drive every lookup to its end.

    One role of a service that runs as several processes. All record; one leads and drives
    timers and settlements, the others take over within five seconds. Needs the settings
    postgres, keys_postgres, master_key_file and kafka.

    Example: `cs process-manager --admin-port 8092`
    """
    from cs.assembly.roles import run_process_manager  # noqa: PLC0415

    return run_role(at, "process-manager", role, run_process_manager)


@on_config
def project(at: Invocation, *, role: RoleOptions = ANY) -> Output:
    """Keep the views up to date: one role of a service that runs as several processes.

    One leads, the others take over within five seconds. Needs the settings postgres,
    keys_postgres and master_key_file.

    Example: `cs project --admin-port 8093`
    """
    from cs.assembly.roles import run_project  # noqa: PLC0415

    return run_role(at, "project", role, run_project)


@on_config
def stage(
    at: Invocation,
    name: Annotated[Literal[_STAGES], Parameter(help="Which stage.")],  # type: ignore[valid-type]
    /,
    *,
    role: RoleOptions = ANY,
) -> Output:
    """Work for one stage: one role of a service that runs as several processes.

    Any number may run, up to the partitions of the stage's topic. Needs the settings kafka
    and stages_postgres, and what the stage asks the outside world with; holds no master key
    and must not be given one, nor the addresses of the other databases.

    Example: `cs stage verification --admin-port 8094`
    """
    from cs.assembly.stage_role import run_stage  # noqa: PLC0415

    return run_role(at, f"stage {name}", role, partial(run_stage, name=name))


def run_role(at: Invocation, name: str, options: RoleOptions, run: Run, **given: Any) -> Output:
    """Serve the role *name*, which *run* runs; settings *given* are options of this role."""
    chosen = at.settings(admin_port=options.admin_port, **given)
    calls = name == "api"
    run_process(
        name,
        chosen,
        lambda: run(chosen, "sandbox" if options.sandbox else "live"),
        calls=calls,
        sandbox=options.sandbox,
        runs=f"{name} runs" + " at {api}/v1" * calls + ", health at {admin}/readyz",
        leaves=f"{name} leaves: what it has in hand is finished, others do the rest",
        advice="start it again",
    )
    return Output()


def run_process(
    name: str,
    chosen: Settings,
    run: Callable[[], AbstractAsyncContextManager[RunningRole]],
    *,
    calls: bool,
    sandbox: bool,
    runs: str,
    leaves: str,
    advice: str,
) -> None:
    """Serve the role that *run* runs until SIGTERM or SIGINT.

    Args:
        name: Of the process, for people.
        chosen: Its settings; no secret of them is repeated.
        run: Runs the role.
        calls: Whether it answers calls, on a port other than the admin port.
        sandbox: Whether it belongs to a sandbox: only then it may have fail points.
        runs: A line to print once it runs, a format of the addresses ``{api}`` and
            ``{admin}``.
        leaves: A line to print at the end.
        advice: What follows from an error, or what to do.

    Raises:
        SystemExit: An error ended it that no user can fix.
    """
    logs.configure(chosen.log_level, chosen.log_format, chosen.secrets())
    arm_faults(sandbox=sandbox)
    try:
        import uvloop  # noqa: PLC0415  not for every command

        # uvloop serves callers with a third less processor time.  Elsewhere an open
        # connection to Kafka would keep it from closing, for 30 seconds.
        start = uvloop.run if calls else asyncio.run
        start(_serve(chosen, run, calls=calls, runs=runs, leaves=leaves))
    except Exception as error:
        cause = first_cause(error)
        if isinstance(cause, USER_ERRORS + USAGE_ERRORS):
            raise
        log.critical("role_failed", role=name, exc_info=error)
        said = f"{name} has ended, {type(cause).__name__}: {cause}; {advice}"
        stop(without_secrets(said, chosen.secrets()))


async def _serve(
    chosen: Settings,
    run: Callable[[], AbstractAsyncContextManager[RunningRole]],
    *,
    calls: bool,
    runs: str,
    leaves: str,
) -> None:
    """Take the ports, then run the role; a signal while it starts cancels it."""
    canary = None
    if calls:
        # Here: a role that answers no calls loads none of it.
        from cs.assembly.canary import canary_of  # noqa: PLC0415

        canary = canary_of(chosen)
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(starting.cancel))
        api = stack.enter_context(listen(chosen.host, chosen.port)) if calls else None
        admin = stack.enter_context(
            listen(chosen.admin_host, chosen.admin_port, what="admin_port")
        )
        role = await stack.enter_async_context(run())
        apps = [(role.app, api)] if role.app is not None and api is not None else []
        names = {chosen.admin_host, *chosen.admin_names}
        checks = admin_app(role.ready, role.clock_advancer, names, role.bounces, role.console)
        draining = asyncio.Event() if role.api is None else role.api.draining
        await stack.enter_async_context(serving(apps, draining, admin=(checks, admin)))
        if canary is not None and role.api is not None and api is not None:
            searching = canary(role.api, chosen.canary_url or f"{address(api)}/v1")
            await stack.enter_async_context(in_background(searching, "canary"))
        gc.freeze()  # what has been loaded stays
        ending = asyncio.Event()
        with on_signal(ending.set):
            where = {"api": address(api) if api is not None else "", "admin": address(admin)}
            errors.print(runs.format(**where))
            await ending.wait()
        errors.print(leaves)


def arm_faults(*, sandbox: bool) -> None:
    """Arm the fail points that the environment names.

    Raises:
        BadSettings: There are some, and this is no sandbox, or they are unknown.
    """
    if text := os.environ.get(failpoints.VARIABLE):
        named = f"environment variable {failpoints.VARIABLE}: "
        if not sandbox:
            why = "it kills the service on purpose; unset it, or serve with --sandbox"
            raise BadSettings(f"{named}{why}")
        try:
            failpoints.arm(text)
        except failpoints.BadFailPoint as error:
            raise BadSettings(f"{named}{error}") from error
