"""``cs process-manager``: records what stages answer, and drives lookups to their end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cs.assembly.databases import keep_time, shared_calls
from cs.assembly.erasing import build_suppression, reached_end
from cs.assembly.roles.running import RunningRole, lease_holder
from cs.assembly.roles.shared import open_shared
from cs.assembly.settings_of_plugins import verifier_names
from cs.assembly.shared_settings import kafka_settings
from cs.bus.kafka.bus import KafkaBus
from cs.bus.measured import MeasuredBus
from cs.directory.postgres import PostgresDirectory
from cs.domain.service import World
from cs.operations.bounces.recording import POSTED, BounceRecorder
from cs.operations.erasure import Erasure
from cs.operations.retention import Retention
from cs.pipeline.driver import Driver
from cs.pipeline.outcomes import OutcomeRecorder
from cs.pipeline.receipts import SHARED, Receipts
from cs.postgres.heartbeats import PostgresHeartbeats
from cs.postgres.lease import Leader
from cs.projections.following import ViewFollower
from cs.projections.reading import Reading
from cs.runtime.clock import SystemClock
from cs.settings import Settings


@asynccontextmanager
async def run_process_manager(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Record in every process; drive, and erase whose time has come, if this one leads.

    Raises as `open_shared`.
    """
    async with (
        open_shared(settings, world, "process-manager") as shared,
        KafkaBus(kafka_settings(settings, world)) as bus,
    ):
        data, streams, clock = shared.data, shared.streams, shared.clock
        metrics = shared.metrics
        heartbeats = PostgresHeartbeats(data.pool)
        views = ViewFollower(data.log, data.views, streams.set_aside)
        metrics.follower_position.measure(lambda: views.position, "views")
        views.listen(streams.on_events, streams.READS)
        reading = Reading(
            data.log, data.views, views, data.keys, metrics=metrics, streams=streams
        )
        reflected = reached_end(data.log, views)
        stages_pool = shared.stages_pool
        forget_calls = None if stages_pool is None else shared_calls(stages_pool).erase
        directory = None if stages_pool is None else PostgresDirectory(stages_pool)
        erasure = Erasure(
            streams,
            data.keys,
            clock,
            reflected,
            forget_calls=forget_calls,
            directory=directory,
        )
        retention = Retention(data.views, erasure, clock, months=settings.people_kept_for)
        recorder = OutcomeRecorder(
            streams,
            MeasuredBus(bus, metrics),
            clock,
            heartbeats,
            receipts=Receipts(await data.keys.secret(SHARED)),
            verifiers=verifier_names(settings),
            suppression=build_suppression(erasure, data.keys),
            keys=data.keys,
            metrics=metrics,
        )

        async def drive(_: int) -> None:
            await Driver(
                streams,
                reading,
                clock,
                heartbeats,
                restart_work=False,
                real=SystemClock(),
                metrics=metrics,
                keys=data.keys,
            ).run()

        async def retain(_: int) -> None:
            await retention.run()

        driver = Leader(data.pool, "driver", lease_holder(), drive, metrics=metrics)
        retainer = Leader(data.pool, "retention", lease_holder(), retain, metrics=metrics)
        ready = shared.readiness(views=views, leader=driver, bus=bus.measure, outcomes=recorder)
        await views.catch_up()
        work = (
            views.run(),
            recorder.run(),
            driver.run(),
            retainer.run(),
            streams.set_aside.watch(),
        )
        async with keep_time(shared.time, *work):
            bounces = BounceRecorder(streams, data.keys, clock, reflected, caused_by=POSTED)
            yield RunningRole(ready, bounces=bounces.record_body)
