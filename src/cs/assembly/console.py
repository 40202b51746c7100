"""The console of a process that has the log, the keys and the views open."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from starlette.routing import BaseRoute

from cs.admin.health import Readiness
from cs.assembly.process_manager import Stores
from cs.assembly.settings_of_plugins import of_source, of_verifier
from cs.assembly.work_aside import do_aside
from cs.bus.dead_letters import DeadLetterBox
from cs.bus.port import Bus
from cs.console.access import SIGNED_WITH, Access
from cs.console.activity import Activity
from cs.console.app import console_routes
from cs.console.views import Parts
from cs.domain.opinions import SOURCE as OPINION
from cs.domain.person import PersonErased
from cs.domain.service import World
from cs.eventlog.port import (
    DamagedEvent,
    EventLog,
    LogUnavailable,
    NewerEvent,
    RecordedEvent,
)
from cs.eventlog.streams import Streams
from cs.paid_calls.budgets import Budgets, Spending
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.service import ServiceSettings
from cs.projections.following import Follower
from cs.projections.reading import Reading
from cs.runtime.clock import Clock
from cs.runtime.slow_work import SlowWork
from cs.settings import Settings


async def build_activity(
    log: EventLog, streams: Streams, views: Follower, clock: Clock
) -> Activity:
    """Return the counts of the last week, which go on with the events that *views* read."""
    activity = Activity(log, streams.set_aside, clock, await log.head())
    views.listen(activity.on_events, Activity.READS)
    return activity


def build_dead_letters(
    bus: Bus, streams: Streams, views: Follower, now: Callable[[], datetime]
) -> DeadLetterBox:
    """Return the dead letters of *bus*, which an erasure that *views* read clears."""

    async def handled() -> Mapping[str, datetime]:
        try:
            return (await streams.service()).state.handled
        except (LogUnavailable, DamagedEvent, NewerEvent):
            return {}  # an act on one is refused then

    def on_events(page: Sequence[RecordedEvent]) -> None:
        if any(isinstance(each.event, PersonErased) for each in page):
            box.clear()

    box = DeadLetterBox(bus, now, handled)
    views.listen(on_events, {PersonErased})
    return box


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
    dead_letters: DeadLetterBox | None,
    budgets: Budgets | None = None,
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
            slow=SlowWork(partial(do_aside, settings, world)),
            spending=partial(_spending, settings, budgets),
            dead_letters=dead_letters,
        )
    )


async def _spending(
    settings: Settings, budgets: Budgets | None
) -> Sequence[tuple[Spending, float, float]] | str:
    """Return the account of each paid service that was asked, and its caps; else why not."""
    if budgets is None:
        return ()  # of the stages alone, or nothing is paid here
    try:
        every = await budgets.spending()
    except CallsUnavailable as error:
        return str(error)
    return [(each, *_caps(settings, each.service)) for each in every]


def _caps(settings: Settings, service: str) -> tuple[float, float]:
    """Return the most that a service may cost in a day and in a month, in US dollars."""
    if service == OPINION:
        return settings.opinion_usd_per_day, settings.opinion_usd_per_month
    table = {**of_source(settings, service), **of_verifier(settings, service)}
    usual = ServiceSettings()
    return (
        float(table.get("usd_per_day", usual.usd_per_day)),
        float(table.get("usd_per_month", usual.usd_per_month)),
    )
