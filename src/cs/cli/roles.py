"""``cs api``, ``relay``, ``process-manager``, ``project``, ``stage``: one role a process.

A command imports its own role when it is called, and no other.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from cs.assembly.process import RunningRole
from cs.cli.command import Invocation, Output, command
from cs.cli.process import Process
from cs.domain.service import World
from cs.domain.stages.table import OWN_STAGES
from cs.plugins.entry_points import Group, installed_plugins, names_of
from cs.settings import Settings

Run = Callable[[Settings, World], AbstractAsyncContextManager[RunningRole]]

on_config = command("config")
#: Names alone: no package is loaded.
_STAGES = (*OWN_STAGES, *names_of(installed_plugins(Group.EXTRA_STAGES)))


@Parameter(name="*")
@dataclass(frozen=True)
class RoleOptions:
    """The options of every role."""

    admin_port: Annotated[
        int | None, Parameter(help="Port for health checks; 0: any free one.")
    ] = None
    sandbox: Annotated[
        bool, Parameter(negative="", help="Belong to a sandbox: `cs sandbox run` is its world.")
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
    world: World = "sandbox" if options.sandbox else "live"
    calls = name == "api"

    async def start(stack: AsyncExitStack) -> RunningRole:
        return await stack.enter_async_context(run(chosen, world))

    Process(
        name=name,
        settings=chosen,
        start=start,
        calls=calls,
        runs=lambda api, admin: (
            f"{name} runs{f' at {api}/v1' if calls else ''}, health at {admin}/readyz"
        ),
        leaves=f"{name} leaves: what it has in hand is finished, others do the rest",
        advice="start it again",
    ).run(sandbox=options.sandbox)
    return Output()
