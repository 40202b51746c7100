"""The roles of a service that runs as several processes, each built from settings.

Any number of each may run.  Some of their work is led by one process at a time, which the
others wait to take over (`cs.postgres.lease`).
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import msgspec
from starlette.types import ASGIApp

from cs.admin.readiness import Readiness, ReadinessCheck
from cs.admin.sandbox_clock import SandboxClock
from cs.admin.shared_clock_advance import SharedClockAdvancer
from cs.api.app import build
from cs.assembly.call_answering import api_terms, build_api, reached_end
from cs.assembly.kafka_settings import kafka_settings
from cs.assembly.one_process import build_stage, build_suppression
from cs.assembly.plugins import (
    check_world,
    open_plugins,
    unusable_settings,
    verifier_names,
)
from cs.assembly.postgres_stores import (
    SharedStores,
    SharedTime,
    keep_time,
    open_shared_stores,
    open_shared_time,
    open_stages_pool,
    read_key,
)
from cs.bus import faulty
from cs.bus.kafka.bus import KafkaBus
from cs.checks.postgres import PostgresChecks
from cs.domain.service import World
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.streams import Streams
from cs.operations.erasure.ageing import Ageing
from cs.operations.erasure.person import Erasure
from cs.operations.operator import Operator
from cs.operations.retention import Retention
from cs.paid_calls.forgetting import forget_expired_calls
from cs.paid_calls.paid import PaidOnce
from cs.paid_calls.postgres import PostgresCalls, erase_calls
from cs.pipeline.driver import Driver
from cs.pipeline.feed import feed
from cs.pipeline.outcomes import OutcomeRecorder
from cs.pipeline.receipts import SHARED, Receipts
from cs.pipeline.relay import relay
from cs.pipeline.runner import Runner
from cs.postgres.checkpoints import Checkpoint
from cs.postgres.clock import DatabaseTime
from cs.postgres.heartbeats import PostgresHeartbeats
from cs.postgres.lease import Leader
from cs.postgres.pool import Pool
from cs.postgres.pruning import prune_forever
from cs.projections.catalogue import projections
from cs.projections.following import ViewFollower
from cs.projections.generation import generation
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.runtime.clock import Clock, SystemClock
from cs.settings import Settings


class Role(msgspec.Struct, frozen=True):
    """One role that runs: what its ports serve."""

    ready: ReadinessCheck
    app: ASGIApp | None = None  # of the API
    draining: asyncio.Event | None = None  # set it, and held calls are answered
    clock_advancer: SharedClockAdvancer | None = None  # in a sandbox


def lease_holder() -> str:
    """Return what tells this process from others, for people who look at leases."""
    return f"{socket.gethostname()}:{os.getpid()}"


class _Shared(msgspec.Struct, frozen=True):
    """What every role beside the stages works with."""

    data: SharedStores
    streams: Streams
    times: SharedTime
    stages: Pool | None

    @property
    def clock(self) -> Clock:
        return self.times.clock


@asynccontextmanager
async def _shared(settings: Settings, world: World, role: str) -> AsyncIterator[_Shared]:
    """Open what *role* shares with the others, and hold on to the world of the log.

    Raises:
        Refusal: ``other-world``: the log belongs to the other world.
    """
    check_world(settings, world)
    async with AsyncExitStack() as stack:
        data = await stack.enter_async_context(open_shared_stores(settings, role, world))
        pool = None
        if world == "sandbox" or settings.stages_postgres is not None:
            pool = await stack.enter_async_context(open_stages_pool(settings, role, world))
        shared_time = await open_shared_time(data.time, world, pool)
        streams = Streams(data.log, data.snapshots)
        await Operator(streams, shared_time.clock).choose_world(world)
        yield _Shared(data, streams, shared_time, pool)


@asynccontextmanager
async def _run_in_background(
    shared_time: SharedTime, *work: Coroutine[Any, Any, None]
) -> AsyncIterator[None]:
    """Do *work* until left, keeping time beside it."""
    async with keep_time(shared_time), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in work]
        try:
            yield
        finally:
            for task in running:
                task.cancel()


@asynccontextmanager
async def run_api(settings: Settings, world: World) -> AsyncIterator[Role]:
    """Answer calls."""
    async with _shared(settings, world, "api") as shared:
        data, clock = shared.data, shared.clock
        views = ViewFollower(data.log, data.views, shared.streams.set_aside)
        views.listen_early(shared.streams.on_events)
        reading = Reading(data.log, data.views, views, data.keys)
        checks = _checks(data.pool, clock)
        answers = await build_api(
            shared.streams,
            views,
            reading,
            clock=clock,
            allowed=api_terms(settings),
            checks=checks,
        )
        aside = shared.streams.set_aside
        ready = Readiness(data.log, data.keys, time=data.time, views=views, set_aside=aside)
        clock_advancer = None
        if isinstance(clock, SandboxClock):
            clock_advancer = SharedClockAdvancer(clock, data.log, views, reading)
        removing = prune_forever(checks.prune, data.log.prune_starts)
        watching = shared.streams.set_aside.watch()
        async with _run_in_background(shared.times, views.run(), watching, removing):
            yield Role(ready, build(answers), answers.draining, clock_advancer)


def _checks(pool: Pool, clock: Clock) -> PostgresChecks:
    if isinstance(clock, SandboxClock):
        return PostgresChecks(pool, clock.monotonic, lambda: clock.ahead)
    return PostgresChecks(pool)


@asynccontextmanager
async def run_relay(settings: Settings, world: World) -> AsyncIterator[Role]:
    """Publish issued work and, if it is asked for, the feed of events: each if this leads."""
    async with (
        _shared(settings, world, "relay") as shared,
        KafkaBus(kafka_settings(settings, world)) as bus,
    ):
        data = shared.data
        receipts = Receipts(await data.keys.secret(SHARED))

        async def publish(epoch: int) -> None:
            checkpoint = Checkpoint(data.pool, "relay", epoch)
            await relay(
                data.log,
                faulty.with_faults(bus),
                after=await checkpoint.load(),
                receipts=receipts,
                deadline_clock=shared.clock,
                save_position=checkpoint.save,
                set_aside=shared.streams.set_aside,
            )

        async def publish_feed(epoch: int) -> None:
            checkpoint = Checkpoint(data.pool, "feed", epoch)
            await feed(
                data.log, bus, after=await checkpoint.load(), save_position=checkpoint.save
            )

        leader = Leader(data.pool, "relay", lease_holder(), publish)
        aside = shared.streams.set_aside
        work = [bus.wait_until_available(), leader.run(), aside.watch()]
        if settings.events_feed:
            work.append(Leader(data.pool, "feed", lease_holder(), publish_feed).run())
        ready = Readiness(
            data.log, data.keys, time=data.time, leader=leader, bus=bus, set_aside=aside
        )
        async with _run_in_background(shared.times, *work):
            yield Role(ready)


@asynccontextmanager
async def run_process_manager(settings: Settings, world: World) -> AsyncIterator[Role]:
    """Record what stages answer; drive lookups, if this process leads."""
    async with (
        _shared(settings, world, "process-manager") as shared,
        KafkaBus(kafka_settings(settings, world)) as bus,
    ):
        data, streams, clock = shared.data, shared.streams, shared.clock
        heartbeats = PostgresHeartbeats(data.pool)
        views = ViewFollower(data.log, data.views, shared.streams.set_aside)
        views.listen_early(shared.streams.on_events)
        reading = Reading(data.log, data.views, views, data.keys)
        reflected = reached_end(data.log, views)
        forget_calls = partial(erase_calls, shared.stages) if shared.stages else None
        erasure = Erasure(streams, data.keys, clock, reflected, forget_calls=forget_calls)
        ageing = Ageing(streams, data.keys, clock, reflected, forget_calls=forget_calls)
        recorder = OutcomeRecorder(
            streams,
            bus,
            clock,
            heartbeats,
            receipts=Receipts(await data.keys.secret(SHARED)),
            verifiers=verifier_names(settings),
            suppression=build_suppression(erasure, data.keys),
        )

        async def drive(_: int) -> None:
            await Driver(
                streams, reading, clock, heartbeats, restart_work=False, real=SystemClock()
            ).run()

        retention = Retention(
            data.log, data.views, ageing, clock, months=settings.people_kept_for
        )

        async def age_out(_: int) -> None:
            await retention.run()

        aging = Leader(data.pool, "retention", lease_holder(), age_out)
        leader = Leader(data.pool, "driver", lease_holder(), drive)
        ready = Readiness(
            data.log,
            data.keys,
            time=data.time,
            views=views,
            leader=leader,
            bus=bus,
            set_aside=streams.set_aside,
            outcomes=recorder,
        )
        await views.catch_up()
        work = [
            views.run(),
            recorder.run(),
            leader.run(),
            aging.run(),
            streams.set_aside.watch(),
        ]
        async with _run_in_background(shared.times, *work):
            yield Role(ready)


@asynccontextmanager
async def run_projections(settings: Settings, world: World) -> AsyncIterator[Role]:
    """Keep the views up to date, if this process leads for its version of them."""
    async with _shared(settings, world, "project") as shared:
        data, aside = shared.data, shared.streams.set_aside

        async def project(epoch: int) -> None:
            runner = ViewRunner(data.log, data.views, data.keys, epoch=epoch, set_aside=aside)
            await retry_while_unavailable(runner.catch_up)
            await runner.run()

        name = f"views {generation(projections())}"
        leader = Leader(data.pool, name, lease_holder(), project)
        ready = Readiness(data.log, data.keys, time=data.time, leader=leader, set_aside=aside)
        async with _run_in_background(shared.times, leader.run(), aside.watch()):
            yield Role(ready)


@asynccontextmanager
async def run_stage(settings: Settings, world: World, name: StageName) -> AsyncIterator[Role]:
    """Work for the stage *name*: from its topic to ``cs.outcomes``, and nothing else.

    Holds no master key and knows no event log.
    """
    check_world(settings, world)
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(
            open_stages_pool(settings, f"stage {name}", world)
        )
        time = DatabaseTime(pool)
        await time.ask()
        shared_time = await open_shared_time(time, world, pool)
        calls = PostgresCalls(pool, read_key(settings.stages_key_file, "stages_key_file"))
        await calls.check_key()
        await stack.enter_async_context(forget_expired_calls(calls))
        plugins = await stack.enter_async_context(
            open_plugins(settings, shared_time.clock, PaidOnce(calls), world=world)
        )
        bus = await stack.enter_async_context(KafkaBus(kafka_settings(settings, world)))
        wrong = unusable_settings(plugins)
        plugins.misconfiguration.begin({s: wrong[s] for s in STAGES[name].asks if s in wrong})
        runner = Runner(build_stage(name, plugins), faulty.with_faults(bus), shared_time.clock)
        async with _run_in_background(shared_time, runner.run()):
            misconfiguration = plugins.misconfiguration
            yield Role(Readiness(time=time, bus=bus, misconfiguration=misconfiguration))
