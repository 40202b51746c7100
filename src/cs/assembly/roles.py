"""The roles that hold the master key, of a service that runs as several processes.

======================  =======================  ==============================================
Command                 Function                 What the process does
======================  =======================  ==============================================
``cs api``              `run_api`                answers calls
``cs relay``            `run_relay`              publishes issued work, and the feed of events
``cs process-manager``  `run_process_manager`    records what stages answer, drives lookups
``cs project``          `run_project`            keeps the views up to date
======================  =======================  ==============================================

A stage is run by `cs.assembly.stage_role`, which imports neither the log nor the keys.

Each function is an async context manager: it builds the role from settings, runs it until left,
and yields a `RunningRole`.  Any number of processes may run each role.  Some of their work is
led by one process at a time, which the others wait to take over (`cs.postgres.lease`).

Raises of each:
    BadSettings: One is missing or wrong, or only a sandbox may have it.
    Refusal: ``other-world``: the log belongs to the other world.
    WrongSchema: A database is not of this version.
    WrongMasterKey: The key store was made with another.
    DatabaseUnavailable, KeysUnavailable: A database cannot be reached.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from cs.admin.health import Readiness
from cs.admin.sandbox_clock import SEVERAL_PROCESSES, ClockAdvancer, SandboxClock
from cs.api.app import Gate
from cs.assembly.call_answering import build_api
from cs.assembly.cluster_view import leases
from cs.assembly.console import build_activity, build_console, build_dead_letters
from cs.assembly.databases import (
    SharedTime,
    keep_time,
    open_shared_time,
    open_stages_pool,
    shared_budgets,
    shared_calls,
)
from cs.assembly.postgres_stores import SharedStores, open_shared_stores
from cs.assembly.process import (
    RunningRole,
    check_world,
    insecure_console,
    measured_process,
    open_traces,
)
from cs.assembly.process_manager import build_process_manager
from cs.assembly.settings_of_plugins import verifier_names
from cs.assembly.shared_settings import insecure_role, kafka_settings
from cs.assembly.upkeep import measure_files
from cs.bus.kafka.bus import KafkaBus
from cs.bus.measured import MeasuredBus
from cs.checks.postgres import PostgresChecks
from cs.directory.postgres import PostgresDirectory
from cs.domain.service import World
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import NOBODY
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.operations.operator import Operator
from cs.operations.restored import check_restored, looking
from cs.pipeline.feed import feed
from cs.pipeline.receipts import SHARED, Receipts
from cs.pipeline.relay import LearnedFigures, relay
from cs.postgres.cluster_state import read_cluster
from cs.postgres.heartbeats import PostgresHeartbeats
from cs.postgres.lease import Checkpoint, Leader
from cs.postgres.pool import Pool
from cs.postgres.processes import ProcessReport, process_name
from cs.projections.event_counts import EventCounts
from cs.projections.following import ViewFollower
from cs.projections.reading import Reading
from cs.projections.runner import REST_S, ViewRunner
from cs.projections.source_weeks import figures_until
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.coordination import in_background
from cs.settings import Settings


class _Parts(msgspec.Struct, frozen=True):
    """The databases and clocks that each of these roles has open.

    Attributes:
        stages_pool: The stages' own database; ``None`` where the settings do not name it.
        insecure: Hosts that need not prove who they are, by setting.
        report: Reports the process, once its readiness is known.
    """

    data: SharedStores
    streams: Streams
    time: SharedTime
    stages_pool: Pool | None
    metrics: Metrics
    insecure: Mapping[str, Sequence[str]]
    report: ProcessReport

    @property
    def clock(self) -> Clock:
        return self.time.clock

    def readiness(self, **more: Any) -> Readiness:
        """Return the readiness of a role, with *more* of its own parts, and report it."""
        found = Readiness(
            self.data.log,
            self.data.keys,
            clock=self.clock,
            time=self.data.time,
            set_aside=self.streams.set_aside,
            metrics=self.metrics,
            **{"insecure": self.insecure, **more},
        )
        self.report.begin(found.check)
        return found

    def leader(self, name: str, work: Callable[[int], Awaitable[None]]) -> Leader:
        """Return what does *work* whenever this process leads *name*."""
        return Leader(self.data.pool, name, process_name(), work, metrics=self.metrics)

    def followed_views(self) -> tuple[ViewFollower, Reading]:
        """Return the views, which another process writes, and the queries on them."""
        data, streams, metrics = self.data, self.streams, self.metrics
        views = ViewFollower(data.log, data.views, streams.set_aside)
        metrics.follower_position.measure(lambda: views.position, "views")
        views.listen(streams.on_events, streams.READS)
        stored = data.views
        return views, Reading(
            data.log, stored, views, data.keys, metrics=metrics, streams=streams
        )


@asynccontextmanager
async def _open(settings: Settings, world: World, role: str) -> AsyncIterator[_Parts]:
    """Open the databases of *settings* for *role*, and tie the log to *world*.

    Raises:
        LogBehind: The log was restored from a backup, and not accepted yet.
    """
    check_world(settings, world)
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        metrics = Metrics(await enter(open_traces(settings, role)))
        data = await enter(open_shared_stores(settings, role, world, metrics))
        stages_pool = None
        if world == "sandbox" or settings.stages_postgres is not None:
            stages_pool = await enter(open_stages_pool(settings, role, world))
        shared_time = await open_shared_time(data.time, world, stages_pool)
        streams = Streams(data.log, data.snapshots, metrics)
        epoch = await check_restored(data.log, data.keys, shared_time.clock)
        await Operator(streams, shared_time.clock).choose_world(world)
        await enter(measured_process(metrics, role, world))
        measure_files(metrics, settings)
        _measure_cluster(metrics, data.pool)
        insecure = insecure_role(settings, world)
        await enter(looking(data.log, data.keys, shared_time.clock, epoch))
        report = ProcessReport(data.pool, role)
        await enter(in_background(report.run(), "process-report"))
        yield _Parts(data, streams, shared_time, stages_pool, metrics, insecure, report)


def _measure_cluster(metrics: Metrics, pool: Pool) -> None:
    """Show what the database says of the processes that lead, in each that reads it.

    Where all of a role are gone, others still say so.
    """

    async def measure() -> None:
        found = await read_cluster(pool)
        for label, name in leases().items():
            lease = found.leases.get(name)
            metrics.leases_taken.of(label).set(lease is not None and lease.taken)
        if "relay" in found.checkpoints:  # where a relay works its own position is shown
            metrics.follower_position.of("relay").set(found.checkpoints["relay"])
        metrics.database_size.of("service").set(found.bytes)
        if found.archived_at is not None:
            metrics.backup_at.of().set(found.archived_at.timestamp())

    metrics.measurements["cluster"] = measure


@asynccontextmanager
async def run_api(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Answer calls; the views are written elsewhere."""
    async with _open(settings, world, "api") as parts:
        data, clock = parts.data, parts.clock
        data.log.wanted = NOBODY  # the people of an answer are opened for it, and not before
        views, reading = parts.followed_views()
        checks, clock_advancer = PostgresChecks(data.pool), None
        if isinstance(clock, SandboxClock):
            moved = clock
            checks = PostgresChecks(data.pool, clock.monotonic, lambda: moved.ahead)
            clock_advancer = ClockAdvancer(
                clock, data.log, views, reading=reading, pace=SEVERAL_PROCESSES
            )
        api = await build_api(
            parts.streams,
            views,
            reading,
            settings,
            clock=clock,
            checks=checks,
            metrics=parts.metrics,
        )
        work = (
            views.run(),
            parts.streams.set_aside.watch(),
            data.log.prune_starts(),
        )
        async with keep_time(parts.time, *work):
            ready = parts.readiness(views=views)
            yield RunningRole(ready, Gate(api), api, clock_advancer)


@asynccontextmanager
async def run_console(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Show the console; the views are written elsewhere."""
    async with (
        _open(settings, world, "console") as parts,
        _bus_if_named(settings, world) as bus,
    ):
        data = parts.data
        views, reading = parts.followed_views()
        dead_letters = None
        if bus is not None:  # whose records are dated by the real time, in a sandbox too
            dead_letters = build_dead_letters(bus, parts.streams, views, SystemClock().now)
        await views.catch_up(waits=False)  # what is wrong may be the views
        activity = await build_activity(data.log, parts.streams, views, parts.clock)
        insecure = {**parts.insecure, **insecure_console(settings, world)}
        budgets = None
        if settings.stages_postgres is not None and parts.stages_pool is not None:
            budgets = shared_budgets(parts.stages_pool, settings)
        ready = parts.readiness(views=views, insecure=insecure)
        console = await build_console(
            settings,
            world,
            data,
            reading=reading,
            streams=parts.streams,
            clock=parts.clock,
            ready=ready,
            activity=activity,
            dead_letters=dead_letters,
            budgets=budgets,
        )
        work = [views.run(), parts.streams.set_aside.watch(), activity.fill()]
        if dead_letters is not None:
            work.append(dead_letters.run())
        async with keep_time(parts.time, *work):
            yield RunningRole(ready, console=console)


@asynccontextmanager
async def _bus_if_named(settings: Settings, world: World) -> AsyncIterator[KafkaBus | None]:
    if not settings.kafka:
        yield None
        return
    async with KafkaBus(kafka_settings(settings, world)) as bus:
        yield bus


@asynccontextmanager
async def run_relay(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Publish work and, if it is asked for, the feed, each if this process leads for it."""
    async with (
        _open(settings, world, "relay") as parts,
        KafkaBus(kafka_settings(settings, world)) as kafka,
    ):
        data, metrics = parts.data, parts.metrics
        bus, set_aside = MeasuredBus(kafka, metrics), parts.streams.set_aside
        receipts = Receipts(await data.keys.secret(SHARED))
        figures = LearnedFigures(
            lambda: figures_until(data.views, parts.clock.now()), parts.clock
        )

        async def publish(epoch: int) -> None:
            checkpoint = Checkpoint(data.pool, "relay", epoch)
            await relay(
                data.log,
                bus,
                after=await checkpoint.load(),
                receipts=receipts,
                figures=figures,
                deadline_clock=parts.clock,
                save_position=checkpoint.save,
                set_aside=set_aside,
                metrics=metrics,
            )

        async def publish_feed(epoch: int) -> None:
            checkpoint = Checkpoint(data.pool, "feed", epoch)
            after, save = await checkpoint.load(), checkpoint.save
            await feed(data.log, bus, after=after, save_position=save, metrics=metrics)

        leader = parts.leader("relay", publish)
        work = [kafka.wait_until_available(), leader.run(), set_aside.watch()]
        if settings.events_feed:
            work.append(parts.leader("feed", publish_feed).run())
        async with keep_time(parts.time, *work):
            yield RunningRole(parts.readiness(leader=leader, bus=kafka.measure))


@asynccontextmanager
async def run_process_manager(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Record in every process; drive, and erase whose time has come, if this one leads."""
    async with (
        _open(settings, world, "process-manager") as parts,
        KafkaBus(kafka_settings(settings, world)) as bus,
    ):
        data, pool = parts.data, parts.stages_pool
        views, reading = parts.followed_views()
        manager = await build_process_manager(
            data,
            parts.streams,
            follower=views,
            reading=reading,
            bus=MeasuredBus(bus, parts.metrics),
            heartbeats=PostgresHeartbeats(data.pool),
            clock=parts.clock,
            real=SystemClock(),
            verifiers=verifier_names(settings),
            restart_work=False,
            months=settings.people_kept_for,
            forget_calls=None if pool is None else shared_calls(pool).erase,
            directory=None if pool is None else PostgresDirectory(pool),
            metrics=parts.metrics,
        )
        retention = manager.retention
        assert retention is not None, "people are kept for some months"
        driver = parts.leader("driver", lambda _: manager.driver.run())
        retainer = parts.leader("retention", lambda _: retention.run())
        await views.catch_up()
        work = (
            views.run(),
            manager.recorder.run(),
            driver.run(),
            retainer.run(),
            parts.streams.set_aside.watch(),
        )
        async with keep_time(parts.time, *work):
            ready = parts.readiness(
                views=views, leader=driver, bus=bus.measure, outcomes=manager.recorder
            )
            yield RunningRole(ready, bounces=manager.bounces)


@asynccontextmanager
async def run_project(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Write the views of this version, if this process leads for it."""
    async with _open(settings, world, "project") as parts:
        data, set_aside, metrics = parts.data, parts.streams.set_aside, parts.metrics
        counts = EventCounts(metrics)

        async def project(epoch: int) -> None:
            runner = ViewRunner(
                data.log,
                data.views,
                data.keys,
                epoch=epoch,
                set_aside=set_aside,
                rest_s=REST_S,
            )
            await retry_while_unavailable(runner.catch_up)
            runner.listen(counts.on_events)
            with metrics.follower_position.measured(lambda: runner.position, "views"):
                await runner.run()

        leader = parts.leader(leases()["views"], project)
        async with keep_time(parts.time, leader.run(), set_aside.watch()):
            yield RunningRole(parts.readiness(leader=leader))
