"""The console of a process that has the log, the keys and the views open."""

from collections.abc import Sequence

from starlette.routing import BaseRoute

from cs.admin.health import Readiness
from cs.assembly.process_manager import Stores
from cs.console.access import SIGNED_WITH, Access
from cs.console.activity import Activity
from cs.console.app import console_routes
from cs.console.views import Parts
from cs.domain.service import World
from cs.eventlog.port import EventLog
from cs.eventlog.streams import Streams
from cs.projections.following import Follower
from cs.projections.reading import Reading
from cs.runtime.clock import Clock
from cs.settings import Settings


async def build_activity(
    log: EventLog, streams: Streams, views: Follower, clock: Clock
) -> Activity:
    """Return the counts of the last week, which go on with the events that *views* read."""
    activity = Activity(log, streams.set_aside, clock, await log.head())
    views.listen(activity.on_events, Activity.READS)
    return activity


async def build_console(
    settings: Settings,
    world: World,
    data: Stores,
    *,
    reading: Reading,
    streams: Streams,
    clock: Clock,
    ready: Readiness,
    activity: Activity,
) -> Sequence[BaseRoute]:
    """Return the routes of the console; that of a sandbox is open on loopback."""
    access = Access(
        streams,
        await data.keys.secret(SIGNED_WITH),
        clock,
        open_role="privacy" if world == "sandbox" else None,
        user_header=settings.console_user_header,
        proxies=settings.console_proxies,
        insecure=settings.insecure_console,
    )
    return console_routes(
        Parts(
            access=access,
            log=data.log,
            keys=data.keys,
            views=data.views,
            reading=reading,
            streams=streams,
            clock=clock,
            ready=ready,
            activity=activity,
        )
    )
