"""A role that runs, whichever it is."""

import asyncio
import os
import socket

import msgspec
from starlette.types import ASGIApp

from cs.admin.app import RecordBounces
from cs.admin.health import Readiness
from cs.admin.sandbox_clock import ClockAdvancer


class RunningRole(msgspec.Struct, frozen=True):
    """What the ports of a role that runs serve.

    Attributes:
        ready: Answers ``/readyz`` and ``/metrics``.
        app: The API; only of ``cs api``.
        draining: Once it is set, held calls are answered; only of ``cs api``.
        clock_advancer: Moves a sandbox's clock; only of ``cs api``.
        bounces: Records bounces; only of ``cs process-manager``.
    """

    ready: Readiness
    app: ASGIApp | None = None
    draining: asyncio.Event | None = None
    clock_advancer: ClockAdvancer | None = None
    bounces: RecordBounces | None = None


def lease_holder() -> str:
    """Return this process's name in the table of leases, for people: ``host:pid``."""
    return f"{socket.gethostname()}:{os.getpid()}"
