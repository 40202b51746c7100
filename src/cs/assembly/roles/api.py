"""``cs api``: answers calls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cs.admin.sandbox_clock import SEVERAL_PROCESSES, ClockAdvancer, SandboxClock
from cs.api.app import build
from cs.assembly.call_answering import api_terms, build_api
from cs.assembly.databases import keep_time
from cs.assembly.postgres_stores import SharedStores
from cs.assembly.roles.running import RunningRole
from cs.assembly.roles.shared import open_shared
from cs.checks.postgres import PostgresChecks
from cs.domain.service import World
from cs.eventlog.port import NOBODY
from cs.postgres.pruning import prune_forever
from cs.projections.following import ViewFollower
from cs.projections.reading import Reading
from cs.runtime.clock import Clock
from cs.settings import Settings


@asynccontextmanager
async def run_api(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Answer calls; the views are written elsewhere.  Raises as `open_shared`."""
    async with open_shared(settings, world, "api") as shared:
        data, streams, clock = shared.data, shared.streams, shared.clock
        data.log.wanted = NOBODY  # the people of an answer are opened for it, and not before
        set_aside = streams.set_aside
        views = ViewFollower(data.log, data.views, set_aside)
        shared.metrics.follower_position.measure(lambda: views.position, "views")
        views.listen(streams.on_events, streams.READS)
        reading = Reading(
            data.log, data.views, views, data.keys, metrics=shared.metrics, streams=streams
        )
        checks = _checks(data, clock)
        api = await build_api(
            streams,
            views,
            reading,
            clock=clock,
            allowed=api_terms(settings),
            checks=checks,
            metrics=shared.metrics,
        )
        ready = shared.readiness(views=views)
        clock_advancer = None
        if isinstance(clock, SandboxClock):
            clock_advancer = ClockAdvancer(
                clock, data.log, views, reading=reading, pace=SEVERAL_PROCESSES
            )
        work = (
            views.run(),
            set_aside.watch(),
            prune_forever(data.log.prune_starts),
        )
        async with keep_time(shared.time, *work):
            yield RunningRole(ready, build(api), api.draining, clock_advancer)


def _checks(data: SharedStores, clock: Clock) -> PostgresChecks:
    """Return the counter of status and usage checks, which all processes share."""
    if isinstance(clock, SandboxClock):
        return PostgresChecks(data.pool, clock.monotonic, lambda: clock.ahead)
    return PostgresChecks(data.pool)
