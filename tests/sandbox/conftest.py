"""A sandbox that runs a small world for the time of a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cs.sandbox.run import open_sandbox
from cs.sandbox.shapes import World
from sandbox.small_world import Clock, Running, Sandbox, world_of


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    @asynccontextmanager
    async def running(world: World | None = None, **parts: Any) -> AsyncIterator[Running]:
        clock, folder = Clock(), tmp_path / "world"
        chosen = world or world_of(**parts)
        async with open_sandbox(chosen, folder=folder, clock=clock) as addresses:
            yield Running(addresses, clock)

    return running
