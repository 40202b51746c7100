"""Roles as the command starts them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import structlog
import uvloop

from cs.assembly.process import RunningRole
from cs.cli import roles
from cs.cli.command import Invocation
from cs.domain.service import World
from cs.eventlog.port import LogUnavailable
from cs.settings import Settings


@pytest.mark.parametrize(
    ("what", "on_uvloop"),
    [
        ("api", True),
        ("relay", False),
        ("process-manager", False),
        ("project", False),
        ("stage ranking", False),
    ],
)
def test_only_what_serves_callers_runs_on_uvloop(what: str, on_uvloop: bool) -> None:
    """A connection to Kafka that is left open would keep uvloop from closing."""
    loops: list[asyncio.AbstractEventLoop] = []

    @asynccontextmanager
    async def run(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
        loops.append(asyncio.get_running_loop())
        for role in tuple[RunningRole, ...]():  # none is made
            yield role
        raise LogUnavailable(f"{settings.port} of {world}: that was enough")

    with pytest.raises(LogUnavailable, match="enough"):
        roles.run_role(Invocation(), what, roles.RoleOptions(0, sandbox=True), run, port=0)

    (loop,) = loops
    assert isinstance(loop, uvloop.Loop) is on_uvloop
    structlog.reset_defaults()
