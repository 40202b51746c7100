"""A sandbox that runs a small world for the time of a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cs.sandbox.run import open_sandbox
from sandbox.small_world import Clock, Running, Sandbox, world_of


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    @asynccontextmanager
    async def running(**parts: Any) -> AsyncIterator[Running]:
        clock = Clock()
        async with open_sandbox(world_of(**parts), folder=tmp_path, clock=clock) as addresses:
            yield Running(addresses, clock)

    return running
