"""``cs api``, ``relay``, ``process-manager``, ``project``, ``stage``: one role a process.

A command imports its own role when it is called, and no other.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Annotated

from cyclopts import Parameter
from structlog import get_logger

from cs.admin.app import build as admin_app
from cs.assembly.insecure import (
    InsecureReadiness,
    insecure_connections,
    log_insecure_connections,
)
from cs.assembly.roles.running import RunningRole
from cs.cli.errors import USAGE_ERRORS, USER_ERRORS, leaf_errors
from cs.cli.fault_injection import arm_faults
from cs.cli.options import Config
from cs.cli.output import errors, stop
from cs.cli.settings_in_force import settings
from cs.domain.service import World
from cs.domain.stages.work import StageName
from cs.http_server.serving import address, listen, on_signal, serving
from cs.runtime import event_loop, logs
from cs.runtime.garbage import collect_seldom
from cs.runtime.redaction import without_secrets
from cs.settings import Settings

log = get_logger()

AdminPort = Annotated[int | None, Parameter(help="Port for health checks; 0: any free one.")]
Sandbox = Annotated[
    bool, Parameter(negative="", help="Belong to a sandbox: `cs sandbox run` is its world.")
]


def api(
    *,
    host: Annotated[str | None, Parameter(help="Address to listen on.")] = None,
    port: Annotated[int | None, Parameter(help="Port of the API; 0: any free one.")] = None,
    admin_port: AdminPort = None,
    sandbox: Sandbox = False,
    config: Config = None,
) -> None:
    """Answer calls: one role of a service that runs as several processes.

    Any number may run behind a proxy; none keeps anything to itself. Needs the settings
    postgres, keys_postgres and master_key_file (docs/many-machines.md). The
    other roles are `cs relay`, `cs process-manager`, `cs project` and `cs stage NAME`;
    `cs serve` is all of them in one process.

    Example: `CS_POSTGRES=postgresql://cs@db/cs cs api --port 8080`
    """
    from cs.assembly.roles.api import run_api  # noqa: PLC0415

    chosen = settings(config, host=host, port=port, admin_port=admin_port)
    _run("api", chosen, run_api, sandbox=sandbox)


def relay(
    *, admin_port: AdminPort = None, sandbox: Sandbox = False, config: Config = None
) -> None:
    """Publish issued work to Kafka: one role of a service that runs as several processes.

    One leads, the others wait to take over within five seconds. Needs the settings
    postgres, keys_postgres, master_key_file and kafka.

    Example: `cs relay --admin-port 8091`
    """
    from cs.assembly.roles.relay import run_relay  # noqa: PLC0415

    _run("relay", settings(config, admin_port=admin_port), run_relay, sandbox=sandbox)


def process_manager(
    *, admin_port: AdminPort = None, sandbox: Sandbox = False, config: Config = None
) -> None:
    """Record what stages answer, and drive every lookup to its end.

    One role of a service that runs as several processes. All record; one leads and drives
    timers and settlements, the others take over within five seconds. Needs the settings
    postgres, keys_postgres, master_key_file and kafka.

    Example: `cs process-manager --admin-port 8092`
    """
    from cs.assembly.roles.process_manager import run_process_manager  # noqa: PLC0415

    chosen = settings(config, admin_port=admin_port)
    _run("process-manager", chosen, run_process_manager, sandbox=sandbox)


def project(
    *, admin_port: AdminPort = None, sandbox: Sandbox = False, config: Config = None
) -> None:
    """Keep the views up to date: one role of a service that runs as several processes.

    One leads, the others take over within five seconds. Needs the settings postgres,
    keys_postgres and master_key_file.

    Example: `cs project --admin-port 8093`
    """
    from cs.assembly.roles.project import run_project  # noqa: PLC0415

    _run("project", settings(config, admin_port=admin_port), run_project, sandbox=sandbox)


def stage(
    name: Annotated[StageName, Parameter(help="Which stage.")],
    /,
    *,
    admin_port: AdminPort = None,
    sandbox: Sandbox = False,
    config: Config = None,
) -> None:
    """Work for one stage: one role of a service that runs as several processes.

    Any number may run, up to the partitions of the stage's topic. Needs the settings kafka
    and stages_postgres, and what the stage asks the outside world with; holds no master key
    and must not be given one, nor the addresses of the other databases.

    Example: `cs stage verification --admin-port 8094`
    """
    from cs.assembly.roles.stage import run_stage  # noqa: PLC0415

    chosen = settings(config, admin_port=admin_port)

    def run(chosen: Settings, world: World) -> AbstractAsyncContextManager[RunningRole]:
        return run_stage(chosen, world, name)

    _run(f"stage {name}", chosen, run, sandbox=sandbox)


Run = Callable[[Settings, World], AbstractAsyncContextManager[RunningRole]]


def _run(what: str, chosen: Settings, run: Run, *, sandbox: bool) -> None:
    logs.configure(chosen.log_level, chosen.log_format, chosen.secrets())
    arm_faults(sandbox=sandbox)
    serve = _serve(what, chosen, run, "sandbox" if sandbox else "live")
    try:
        if what == "api":
            event_loop.run(serve)
        else:
            asyncio.run(serve)
    except Exception as error:
        cause = next(leaf_errors(error))
        if isinstance(cause, USER_ERRORS + USAGE_ERRORS):
            raise
        log.critical("role_failed", role=what, exc_info=error)
        said = f"{what} has ended, {type(cause).__name__}: {cause}; start it again"
        stop(without_secrets(said, chosen.secrets()))


async def _serve(what: str, chosen: Settings, run: Run, world: World) -> None:
    """Run until SIGTERM or SIGINT; while it starts they cancel it."""
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(starting.cancel))
        admin_socket = stack.enter_context(
            listen(chosen.admin_host, chosen.admin_port, what="admin_port")
        )
        api_socket = None
        if what == "api":
            api_socket = stack.enter_context(listen(chosen.host, chosen.port))
        role = await stack.enter_async_context(run(chosen, world))
        insecure = insecure_connections(chosen, world)
        await stack.enter_async_context(log_insecure_connections(insecure))
        ready = InsecureReadiness(role.ready, insecure)
        apps = [(role.app, api_socket)] if role.app and api_socket else []
        names = {chosen.admin_host, *chosen.admin_names}
        admin = admin_app(ready, role.clock_advancer, names, role.measures, role.bounces)
        draining = role.draining or asyncio.Event()
        await stack.enter_async_context(serving(apps, draining, admin=(admin, admin_socket)))
        collect_seldom()
        leaving = asyncio.Event()
        with on_signal(leaving.set):
            where = f" at {address(api_socket)}/v1" if api_socket is not None else ""
            errors.print(f"{what} runs{where}, health at {address(admin_socket)}/readyz")
            await leaving.wait()
        errors.print(f"{what} leaves: what it has in hand is finished, others do the rest")
