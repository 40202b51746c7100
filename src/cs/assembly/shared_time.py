"""The time of all roles: the database's, moved ahead in a sandbox."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from cs.admin.sandbox_clock import SandboxClock
from cs.domain.service import World
from cs.postgres.clock import DatabaseTime, SharedOffset
from cs.postgres.pool import Pool
from cs.runtime.clock import Clock, SystemClock


class SharedTime(msgspec.Struct, frozen=True):
    """The time of all roles.

    Attributes:
        offset: By how much a sandbox's time is moved; ``None`` in the live world.
    """

    clock: Clock
    time: DatabaseTime
    offset: SharedOffset | None


async def open_shared_time(
    time: DatabaseTime, world: World, stages_pool: Pool | None
) -> SharedTime:
    """Return the time in *world*; a sandbox's offset is in the stages' database.

    Raises:
        DatabaseUnavailable: The stages' database cannot be reached.
    """
    real = SystemClock(wall=time.now)
    if world == "live":
        return SharedTime(real, time, None)
    assert stages_pool is not None, "a sandbox's roles share the stages' database"
    offset = SharedOffset(stages_pool)
    return SharedTime(SandboxClock(await offset.load(), offset.keep, real), time, offset)


@asynccontextmanager
async def keep_time(
    shared: SharedTime, *work: Coroutine[Any, Any, None]
) -> AsyncIterator[None]:
    """Keep *shared* up to date, and run *work* next to that, until left.

    That asks for the database's time now and then, and follows a sandbox's clock.
    """
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in (shared.time.run(), *work)]
        if shared.offset is not None and isinstance(shared.clock, SandboxClock):
            following = shared.offset.follow(shared.clock.moved)
            running.append(tasks.create_task(following))
        try:
            yield
        finally:
            for task in running:
                task.cancel()
