"""A process that serves until a signal ends it: ``cs serve`` and each role."""

import asyncio
import gc
import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import msgspec
from structlog import get_logger

from cs.admin.app import build as admin_app
from cs.assembly.process import RunningRole
from cs.cli.errors import USAGE_ERRORS, USER_ERRORS, first_cause
from cs.cli.output import errors, stop
from cs.http_server.serving import address, listen, on_signal, serving
from cs.runtime import failpoints, logs
from cs.runtime.redaction import without_secrets
from cs.settings import BadSettings, Settings

log = get_logger()


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process that serves.

    Attributes:
        name: For people.
        settings: No secret of them is repeated.
        start: Starts what is served for as long as the stack lasts, once the ports are taken.
        calls: Whether it answers calls, on a port other than the admin port.
        runs: The line that is printed then, with the addresses of API and admin port.
        leaves: The line that is printed at the end.
        advice: What follows from an error, or what to do.
    """

    name: str
    settings: Settings
    start: Callable[[AsyncExitStack], Awaitable[RunningRole]]
    calls: bool
    runs: Callable[[str, str], str]
    leaves: str
    advice: str

    def run(self, *, sandbox: bool) -> None:
        """Serve, with log and faults set up; only a *sandbox* may have faults.

        Raises:
            SystemExit: An error ended it that no user can fix.
        """
        chosen = self.settings
        logs.configure(chosen.log_level, chosen.log_format, chosen.secrets())
        arm_faults(sandbox=sandbox)
        try:
            import uvloop  # noqa: PLC0415  not for every command

            # uvloop serves callers with a third less processor time.  Elsewhere an open
            # connection to Kafka would keep it from closing, for 30 seconds.
            (uvloop.run if self.calls else asyncio.run)(self.serve())
        except Exception as error:
            cause = first_cause(error)
            if isinstance(cause, USER_ERRORS + USAGE_ERRORS):
                raise
            log.critical("role_failed", role=self.name, exc_info=error)
            said = f"{self.name} has ended, {type(cause).__name__}: {cause}; {self.advice}"
            stop(without_secrets(said, chosen.secrets()))

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT; while it starts they cancel it."""
        starting, chosen = asyncio.current_task(), self.settings
        assert starting is not None, "runs in a task"
        async with AsyncExitStack() as stack:
            stack.enter_context(on_signal(starting.cancel))
            api = stack.enter_context(listen(chosen.host, chosen.port)) if self.calls else None
            admin = stack.enter_context(
                listen(chosen.admin_host, chosen.admin_port, what="admin_port")
            )
            role = await self.start(stack)
            apps = [(role.app, api)] if role.app is not None and api is not None else []
            names = {chosen.admin_host, *chosen.admin_names}
            checks = admin_app(role.ready, role.clock_advancer, names, role.bounces)
            draining = role.draining or asyncio.Event()
            await stack.enter_async_context(serving(apps, draining, admin=(checks, admin)))
            gc.freeze()  # what has been loaded stays
            ending = asyncio.Event()
            with on_signal(ending.set):
                where = address(api) if api is not None else ""
                errors.print(self.runs(where, address(admin)))
                await ending.wait()
            errors.print(self.leaves)


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
