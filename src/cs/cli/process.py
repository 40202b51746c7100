"""A process that serves until it is told to leave: ``cs serve`` and each role."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

from structlog import get_logger

from cs.admin.app import build as admin_app
from cs.assembly.roles.running import RunningRole
from cs.bus import faulty
from cs.bus.errors import BadBusFaults
from cs.cli.errors import USAGE_ERRORS, USER_ERRORS, leaf_errors
from cs.cli.output import errors, stop
from cs.http_server.serving import address, listen, on_signal, serving
from cs.runtime import event_loop, failpoints, logs
from cs.runtime.garbage import collect_seldom
from cs.runtime.redaction import without_secrets
from cs.settings import BadSettings, Settings

log = get_logger()

#: Starts what is served for as long as the stack lasts.
Start = Callable[[AsyncExitStack], Awaitable[RunningRole]]


def run_process(
    name: str,
    chosen: Settings,
    main: Callable[[], Coroutine[Any, Any, None]],
    *,
    sandbox: bool,
    on_uvloop: bool,
    advice: str,
    unexpected: tuple[type[Exception], ...] = (),
) -> None:
    """Run *main*, which serves as *name*, with its log and faults set up.

    Args:
        name: For people.
        chosen: The settings; no secret of them is repeated.
        main: See `serve_until_told`.
        sandbox: Whether the environment may name faults.
        on_uvloop: For what serves callers.
        advice: What follows from an error, or what to do.
        unexpected: Errors that a user could fix, but not here.

    Raises:
        SystemExit: An error ended it that no user can fix.
    """
    logs.configure(chosen.log_level, chosen.log_format, chosen.secrets())
    arm_faults(sandbox=sandbox)
    try:
        (event_loop.run if on_uvloop else asyncio.run)(main())
    except Exception as error:
        cause = next(leaf_errors(error))
        mendable = isinstance(cause, USER_ERRORS + USAGE_ERRORS)
        if mendable and not isinstance(cause, unexpected):
            raise
        log.critical("role_failed", role=name, exc_info=error)
        said = f"{name} has ended, {type(cause).__name__}: {cause}; {advice}"
        stop(without_secrets(said, chosen.secrets()))


async def serve_until_told(
    chosen: Settings,
    start: Start,
    *,
    calls: bool,
    runs: Callable[[str, str], str],
    leaves: str,
) -> None:
    """Serve what *start* starts until SIGTERM or SIGINT; while it starts they cancel it.

    Args:
        chosen: The settings, of which the addresses are used.
        start: Starts it, once the ports are taken.
        calls: Whether it answers calls, on a port besides the admin port.
        runs: Makes the line that is printed then, of both ports' addresses.
        leaves: The line that is printed at the end.
    """
    starting = asyncio.current_task()
    assert starting is not None, "runs in a task"
    async with AsyncExitStack() as stack:
        stack.enter_context(on_signal(starting.cancel))
        api = stack.enter_context(listen(chosen.host, chosen.port)) if calls else None
        admin = stack.enter_context(
            listen(chosen.admin_host, chosen.admin_port, what="admin_port")
        )
        role = await start(stack)
        apps = [(role.app, api)] if role.app is not None and api is not None else []
        names = {chosen.admin_host, *chosen.admin_names}
        checks = admin_app(role.ready, role.clock_advancer, names, role.measures, role.bounces)
        draining = role.draining or asyncio.Event()
        await stack.enter_async_context(serving(apps, draining, admin=(checks, admin)))
        collect_seldom()
        told = asyncio.Event()
        with on_signal(told.set):
            errors.print(runs(address(api) if api is not None else "", address(admin)))
            await told.wait()
        errors.print(leaves)


def arm_faults(*, sandbox: bool) -> None:
    """Arm the fail points and faults of the bus that the environment names.

    Raises:
        BadSettings: There are some, and this is no sandbox, or they are unknown.
    """
    faults = (
        (failpoints.VARIABLE, failpoints.arm, "it kills the service on purpose"),
        (faulty.VARIABLE, faulty.arm, "it loses messages on purpose"),
    )
    for variable, arm, why in faults:
        text = os.environ.get(variable)
        if not text:
            continue
        if not sandbox:
            raise BadSettings(
                f"environment variable {variable}: {why}; unset it, or serve with --sandbox"
            )
        try:
            arm(text)
        except (failpoints.BadFailPoint, BadBusFaults) as error:
            raise BadSettings(f"environment variable {variable}: {error}") from error
