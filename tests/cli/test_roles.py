"""The event loops that roles run on."""

import asyncio
from typing import NoReturn

import pytest
import structlog
import uvloop

from cs.cli import roles
from cs.cli.command import Invocation
from cs.domain.service import World
from cs.eventlog.port import LogUnavailable
from cs.settings import Settings


@pytest.mark.parametrize(("role", "on_uvloop"), [("api", True), ("relay", False)])
def test_only_a_role_that_serves_callers_runs_on_uvloop(role: str, on_uvloop: bool) -> None:
    """An open connection to Kafka would keep uvloop from closing."""

    def run(settings: Settings, world: World) -> NoReturn:
        del settings, world
        raise LogUnavailable(type(asyncio.get_running_loop()).__module__)

    with pytest.raises(LogUnavailable) as ended:
        roles.run_role(Invocation(), role, roles.RoleOptions(0, sandbox=True), run, port=0)
    structlog.reset_defaults()

    assert (str(ended.value) == uvloop.Loop.__module__) is on_uvloop
