"""A role that runs, whichever it is."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.types import ASGIApp

from cs.admin.bounce_routes import BounceIntake
from cs.admin.clock_routes import ClockAdvancer
from cs.admin.measures import Measures
from cs.admin.readiness import ReadinessCheck
from cs.assembly.shared_time import SharedTime, keep_time


class RunningRole(msgspec.Struct, frozen=True):
    """What the ports of a role that runs serve.

    Attributes:
        ready: Answers ``/readyz``.
        measures: Answers ``/metrics``.
        app: The API; only of ``cs api``.
        draining: Once it is set, held calls are answered; only of ``cs api``.
        clock_advancer: Moves a sandbox's clock; only of ``cs api``.
        bounces: Records bounces; only of ``cs process-manager``.
    """

    ready: ReadinessCheck
    measures: Measures
    app: ASGIApp | None = None
    draining: asyncio.Event | None = None
    clock_advancer: ClockAdvancer | None = None
    bounces: BounceIntake | None = None


def lease_holder() -> str:
    """Return this process's name in the table of leases, for people: ``host:pid``."""
    return f"{socket.gethostname()}:{os.getpid()}"


@asynccontextmanager
async def run_in_background(
    shared_time: SharedTime, *work: Coroutine[Any, Any, None]
) -> AsyncIterator[None]:
    """Run *work* and keep *shared_time* up to date until left."""
    async with keep_time(shared_time), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
