"""``cs relay``: publishes issued work and, if it is asked for, the feed of events."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cs.assembly.databases import keep_time
from cs.assembly.roles.running import RunningRole, lease_holder
from cs.assembly.roles.shared import open_shared
from cs.assembly.shared_settings import kafka_settings
from cs.bus.kafka.bus import KafkaBus
from cs.bus.measured import MeasuredBus
from cs.domain.service import World
from cs.pipeline.feed import feed
from cs.pipeline.receipts import SHARED, Receipts
from cs.pipeline.relay import LearnedFigures, relay
from cs.postgres.lease import Checkpoint, Leader
from cs.projections.source_weeks import figures_until
from cs.settings import Settings


@asynccontextmanager
async def run_relay(settings: Settings, world: World) -> AsyncIterator[RunningRole]:
    """Publish work and feed, each if this process leads for it.  Raises as `open_shared`."""
    async with (
        open_shared(settings, world, "relay") as shared,
        KafkaBus(kafka_settings(settings, world)) as bus,
    ):
        data, set_aside, metrics = shared.data, shared.streams.set_aside, shared.metrics
        receipts = Receipts(await data.keys.secret(SHARED))
        figures = LearnedFigures(
            lambda: figures_until(data.views, shared.clock.now()), shared.clock
        )

        async def publish(epoch: int) -> None:
            checkpoint = Checkpoint(data.pool, "relay", epoch)
            await relay(
                data.log,
                MeasuredBus(bus, metrics),
                after=await checkpoint.load(),
                receipts=receipts,
                figures=figures,
                deadline_clock=shared.clock,
                save_position=checkpoint.save,
                set_aside=set_aside,
                metrics=metrics,
            )

        async def publish_feed(epoch: int) -> None:
            checkpoint = Checkpoint(data.pool, "feed", epoch)
            await feed(
                data.log,
                MeasuredBus(bus, metrics),
                after=await checkpoint.load(),
                save_position=checkpoint.save,
                metrics=metrics,
            )

        leader = Leader(data.pool, "relay", lease_holder(), publish, metrics=metrics)
        work = [bus.wait_until_available(), leader.run(), set_aside.watch()]
        if settings.events_feed:
            feeder = Leader(data.pool, "feed", lease_holder(), publish_feed, metrics=metrics)
            work.append(feeder.run())
        ready = shared.readiness(leader=leader, bus=bus.measure)
        async with keep_time(shared.time, *work):
            yield RunningRole(ready)
