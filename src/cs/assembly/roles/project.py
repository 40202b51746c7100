"""``cs project``: keeps the views up to date."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from cs.assembly.databases import keep_time
from cs.assembly.roles.running import RunningRole, lease_holder
from cs.assembly.roles.shared import open_shared
from cs.domain.service import World
from cs.eventlog.follow import retry_while_unavailable
from cs.postgres.lease import Leader
from cs.projections.builds import version_of
from cs.projections.catalogue import projections
from cs.projections.event_counts import EventCounts
from cs.projections.runner import REST_S, ViewRunner
from cs.settings import Settings


@asynccontextmanager
async def run_project(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Write the views of this version, if this process leads for it.

    Raises as `open_shared`.
    """
    async with open_shared(settings, world, "project") as shared:
        data, set_aside, metrics = shared.data, shared.streams.set_aside, shared.metrics
        counts = EventCounts(metrics)

        async def project(epoch: int) -> None:
            runner = ViewRunner(
                data.log,
                data.views,
                data.keys,
                epoch=epoch,
                set_aside=set_aside,
                rest=partial(asyncio.sleep, REST_S),
            )
            await retry_while_unavailable(runner.catch_up)
            runner.listen(counts.on_events)
            with metrics.follower_position.measured(lambda: runner.position, "views"):
                await runner.run()

        lease = f"views {version_of(projections())}"
        leader = Leader(data.pool, lease, lease_holder(), project, metrics=metrics)
        ready = shared.readiness(leader=leader)
        async with keep_time(shared.time, leader.run(), set_aside.watch()):
            yield RunningRole(ready)
