"""A world that runs beside the service goes on when the service dies."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.served import stored_topics
from system.faults.caller import Caller, Notebook, http_client
from system.faults.crashing_service import CrashingService, new_keys
from system.faults.lasting_world import WorldClock, lasting_world
from system.faults.promises import as_intended
from system.faults.world import make_world, wishes

pytestmark = pytest.mark.slow

HUNG_S = 60


async def outlived(
    service: CrashingService, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Ask for a greylisted brand; the service dies when it is to ask its server again."""
    greylisted = wishes(service.world)[6]
    (key,) = await new_keys(service.folder, [1])
    async with http_client() as http, asyncio.timeout(HUNG_S):
        caller = Caller(service, key, Notebook(), http, random.Random(1))
        try:
            await service.start("timer.before-retry=kill")
            calling = asyncio.create_task(caller.want(greylisted, wait=True))
            assert await service.wait() == -9
            meanwhile()
            await service.start()
            found = await calling
            await service.stop()
        finally:
            service.kill()
    assert found is not None
    assert as_intended(greylisted, found), found


def put_off(service: CrashingService) -> int:
    return stored_topics(service.folder).count("brand.attempt-failed.v1")


async def test_who_was_put_off_is_let_in_by_the_next_life(tmp_path: Path) -> None:
    service = CrashingService(tmp_path / "data", make_world(tmp_path / "world.json", 4))

    async with lasting_world(service.world, tmp_path, WorldClock()) as service.addresses:
        await outlived(service)

    assert put_off(service) == 1


async def test_a_world_that_dies_puts_everybody_off_again(tmp_path: Path) -> None:
    service = CrashingService(tmp_path / "data", make_world(tmp_path / "world.json", 4))

    await outlived(service)

    assert put_off(service) == 2


async def test_a_lasting_world_that_forgets_puts_everybody_off_again(tmp_path: Path) -> None:
    service = CrashingService(tmp_path / "data", make_world(tmp_path / "world.json", 4))
    clock = WorldClock()

    async with lasting_world(service.world, tmp_path, clock) as service.addresses:
        await outlived(service, clock.forget)

    assert put_off(service) == 2
