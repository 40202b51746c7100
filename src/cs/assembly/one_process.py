"""Every role in one process, connected over one bus, on any stores or on a data folder.

``cs serve`` runs it on a data folder, tests run it in memory.  The same roles, a process
each, are in `cs.assembly.roles` and `cs.assembly.stage_role`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from starlette.routing import BaseRoute
from starlette.types import ASGIApp
from structlog import get_logger

from cs.admin.health import Readiness
from cs.admin.sandbox_clock import ClockAdvancer, SandboxClock
from cs.api.api import Api
from cs.api.app import Gate
from cs.assembly.call_answering import build_api
from cs.assembly.console import build_activity, build_console, build_dead_letters
from cs.assembly.folder import check_clock, open_folder, paid_call_register
from cs.assembly.folder_keys import folder_of
from cs.assembly.people_directory import open_directory
from cs.assembly.plugins import StagePlugins, build_stages, unusable_settings
from cs.assembly.process import (
    RunningRole,
    check_world,
    insecure_console,
    measured_process,
)
from cs.assembly.process_manager import Stores, build_process_manager
from cs.assembly.upkeep import measure_files
from cs.bus.measured import MeasuredBus
from cs.bus.memory import MemoryBus
from cs.bus.port import Bus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.directory.store import PeopleDirectory
from cs.domain.service import World
from cs.eventlog.follow import VersionGate
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.operations.operator import Operator
from cs.operations.restored import check_restored, looking
from cs.paid_calls.budgets import Budgets
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.misconfiguration import Misconfiguration
from cs.pipeline.outcomes import GROUP
from cs.pipeline.receipts import SHARED, Receipts
from cs.pipeline.relay import LearnedFigures, relay
from cs.pipeline.runner import Runner
from cs.pipeline.verification import Verification
from cs.plugins.stages import Stage
from cs.projections.event_counts import EventCounts
from cs.projections.following import Follower
from cs.projections.reading import Reading
from cs.projections.runner import REST_S, ViewRunner
from cs.projections.source_weeks import figures_until
from cs.runtime.clock import Clock, SystemClock
from cs.settings import Settings

log = get_logger()


class RunningService(RunningRole, frozen=True, kw_only=True):
    """A service that runs: every role, and its parts for commands and tests."""

    app: ASGIApp
    api: Api
    streams: Streams
    views: Follower
    reading: Reading
    driver: Driver


def memory_bus(*, waiting: int | None = None, metrics: Metrics | None = None) -> MemoryBus:
    """Return a bus that knows every group of this service.

    At most *waiting* messages wait in it, any number if ``None``.
    """
    groups = [(OUTCOMES, GROUP), *((topic, name) for name, topic in STAGE_TOPICS.items())]
    return MemoryBus(groups, waiting=waiting, metrics=metrics)


@asynccontextmanager
async def run_service(
    data: Stores,
    work: Sequence[Stage],
    *,
    bus: Bus,
    clock: Clock,
    settings: Settings,
    kept_for_months: int | None = None,
    real: Clock | None = None,
    misconfiguration: Misconfiguration | None = None,
    forget_calls: Callable[[Iterable[str]], Awaitable[int]] | None = None,
    directory: PeopleDirectory | None = None,
    budgets: Budgets | None = None,
    metrics: Metrics | None = None,
    rest_s: float = 0.0,
    world: World | None = None,
) -> AsyncIterator[RunningService]:
    """Run every role in this process, with the stages *work*, until left.

    *settings* say what callers may do, and name verifiers whose evidence counts besides those
    of *work*.  ``/readyz`` shows *misconfiguration*.  The views wait *rest_s* after a page
    that no call waits for (`ViewRunner`).  With the *world* of the log there is a console.  The
    others are as `build_process_manager` has them.
    """
    log, keys, views = data.log, data.keys, data.views
    metrics = metrics or Metrics()
    bus = MeasuredBus(bus, metrics)
    real = real or SystemClock()
    streams = Streams(log, data.snapshots, metrics)
    runner = ViewRunner(log, views, keys, set_aside=streams.set_aside, rest_s=rest_s)
    metrics.follower_position.measure(lambda: runner.position, "views")
    runner.listen(streams.on_events, streams.READS)
    runner.listen(EventCounts(metrics).on_events)
    reading = Reading(log, views, runner, keys, metrics=metrics, streams=streams)
    activity = dead_letters = None
    if world is not None and settings.console:
        activity = await build_activity(log, streams, runner, clock)
        dead_letters = build_dead_letters(bus, streams, runner, clock.now)
    api = await build_api(streams, runner, reading, settings, clock=clock, metrics=metrics)
    manager = await build_process_manager(
        data,
        streams,
        follower=runner,
        reading=reading,
        bus=bus,
        heartbeats=MemoryHeartbeats(real.monotonic),
        clock=clock,
        real=real,
        verifiers=[
            *(v.name for s in work if isinstance(s, Verification) for v in s.verifiers),
            *settings.foreign_verifiers,
        ],
        restart_work=True,
        months=kept_for_months,
        forget_calls=forget_calls,
        directory=directory,
        metrics=metrics,
    )
    ready = Readiness(
        log,
        keys,
        check_writes=data.check_writes,
        clock=clock,
        views=runner,
        misconfiguration=misconfiguration or Misconfiguration(),
        set_aside=streams.set_aside,
        outcomes=manager.recorder,
        insecure={} if world is None else insecure_console(settings, world),
        budgets=budgets,
        metrics=metrics,
    )
    console: Sequence[BaseRoute] = ()
    if world is not None and activity is not None:
        console = await build_console(
            settings,
            world,
            data,
            reading=reading,
            streams=streams,
            clock=clock,
            ready=ready,
            activity=activity,
            dead_letters=dead_letters,
            budgets=budgets,
        )
    receipts = Receipts(await keys.secret(SHARED))
    async with asyncio.TaskGroup() as tasks:
        roles = [
            tasks.create_task(runner.run(), name="views"),
            # From the end: what was issued before is issued again by the process manager.
            tasks.create_task(
                relay(
                    log,
                    bus,
                    after=await log.head(),
                    receipts=receipts,
                    figures=LearnedFigures(lambda: figures_until(views, clock.now()), clock),
                    set_aside=streams.set_aside,
                    metrics=metrics,
                    in_turns=True,
                ),
                name="relay",
            ),
            tasks.create_task(streams.set_aside.watch(), name="set-aside"),
            # Nothing is waited for on leaving: the bus forgets it, the log does not.
            *(
                tasks.create_task(
                    Runner(each, bus, clock, drain_s=0, metrics=metrics).run(), name=each.name
                )
                for each in work
            ),
            tasks.create_task(manager.recorder.run(), name="outcomes"),
            tasks.create_task(
                VersionGate("driver").until_read(manager.driver.run), name="driver"
            ),
        ]
        if activity is not None:
            roles.append(tasks.create_task(activity.fill(), name="activity"))
        if dead_letters is not None:
            roles.append(tasks.create_task(dead_letters.run(), name="dead-letters"))
        if manager.retention is not None:
            roles.append(tasks.create_task(manager.retention.run(), name="retention"))
        yield RunningService(
            ready=ready,
            app=Gate(api),
            clock_advancer=(
                ClockAdvancer(clock, log, runner, manager.driver)
                if isinstance(clock, SandboxClock)
                else None
            ),
            bounces=manager.bounces,
            console=console,
            api=api,
            streams=streams,
            views=runner,
            reading=reading,
            driver=manager.driver,
        )
        for role in roles:
            role.cancel()


@asynccontextmanager
async def run_embedded(
    settings: Settings,
    plugins: StagePlugins,
    world: World,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
    *,
    budgets: Budgets | None = None,
) -> AsyncIterator[RunningService]:
    """Run the whole service in this process on the settings' data folder.

    Args:
        settings: Name the folder, and limit what is done at once.
        plugins: What the stages ask the outside world with.
        world: Which the data must belong to; new data is tied to it.
        clock: The machine's if ``None``.
        metrics: Where all of it is counted.
        budgets: The account of paid services, to be shown.

    Raises:
        BadSettings: One is for a sandbox, and *world* is live.
        DataFolderError: The folder cannot be used, or holds a moved clock and *world* is live.
        Refusal: ``other-world``: the data belongs to the other world.
        LogBehind: The log was restored from a backup, and not accepted yet.
    """
    check_world(settings, world)
    folder = folder_of(settings)
    if unused := folder.unused_master_key:
        log.warning("two_master_keys", used=str(folder.master_key), unused=str(unused))
    metrics = metrics or Metrics()
    measure_files(metrics, settings, folder)
    with folder.held():
        async with (
            measured_process(metrics, "serve", world),
            open_folder(
                folder, appends_waiting=settings.appends_waiting, metrics=metrics
            ) as data,
            open_directory(settings, world, "serve") as directory,
            paid_call_register(settings) as calls,
        ):
            clock = clock or SystemClock()
            epoch = await check_restored(data.log, data.keys, clock, data.views)
            await Operator(Streams(data.log, data.snapshots), clock).choose_world(world)
            check_clock(folder.path, world)
            plugins.misconfiguration.begin(unusable_settings(plugins))
            async with (
                looking(data.log, data.keys, clock, epoch),
                run_service(
                    data,
                    build_stages(plugins),
                    bus=memory_bus(waiting=settings.messages_waiting, metrics=metrics),
                    clock=clock,
                    settings=settings,
                    kept_for_months=settings.people_kept_for,
                    misconfiguration=plugins.misconfiguration,
                    forget_calls=calls.erase,
                    directory=directory,
                    budgets=budgets,
                    metrics=metrics,
                    rest_s=REST_S,
                    world=world,
                ) as service,
            ):
                yield service
