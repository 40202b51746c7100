"""The time of all roles: the database's, moved ahead in a sandbox."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

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
async def keep_time(shared: SharedTime) -> AsyncIterator[None]:
    """Ask for the database's time now and then, and follow a sandbox's clock, until left."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(shared.time.run(), name="time")]
        if shared.offset is not None and isinstance(shared.clock, SandboxClock):
            following = shared.offset.follow(shared.clock.moved)
            running.append(tasks.create_task(following, name="sandbox-clock"))
        try:
            yield
        finally:
            for task in running:
                task.cancel()
