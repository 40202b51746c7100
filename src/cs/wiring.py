"""Builds every object from settings: the one module that names concrete classes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
from starlette.types import ASGIApp

from cs.admin.app import Health
from cs.api.admitting import Admitting
from cs.api.app import build
from cs.api.key_ring import KeyRing
from cs.api.routes import HOLD, Api
from cs.bus.memory import MemoryBus
from cs.bus.port import Bus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.clock import Clock
from cs.eventlog.mapper import DataKeys
from cs.eventlog.port import EventLog
from cs.eventlog.streams import Streams
from cs.pipeline.brand_resolution import BrandResolution
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.process_manager import GROUP, ProcessManager
from cs.pipeline.ranking import Ranking
from cs.pipeline.relay import relay
from cs.pipeline.resolving import Resolving
from cs.pipeline.runner import Runner
from cs.pipeline.stage import Stage
from cs.pipeline.verification import Verification
from cs.projections.brands import Brands
from cs.projections.projection import Projection
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.searches import Searches
from cs.projections.store import ViewStore
from cs.projections.usage import Usage
from cs.sources.port import BrandSource, PeopleSource
from cs.verifiers.port import Verifier


class Tools(msgspec.Struct, frozen=True):
    """What the stages ask the outside world with."""

    brand_sources: Sequence[BrandSource]
    people_sources: Sequence[PeopleSource]
    verifiers: Sequence[Verifier]


def projections() -> Sequence[Projection]:
    return (Searches(), Usage(), Brands())


class Running(msgspec.Struct, frozen=True):
    """A service that runs: its parts, for whoever serves or tests it."""

    app: ASGIApp
    api: Api
    streams: Streams
    reading: Reading
    health: Health


def stages(tools: Tools, *, contacts: int) -> Sequence[Stage]:
    return (
        BrandResolution(Resolving(tools.brand_sources)),
        ContactDiscovery(tools.people_sources),
        Ranking(contacts),
        Verification(tools.verifiers),
    )


def memory_bus() -> MemoryBus:
    """Return a bus that knows every group of this service."""
    return MemoryBus(
        [(OUTCOMES, GROUP), *((topic, name) for name, topic in STAGE_TOPICS.items())]
    )


@asynccontextmanager
async def running(
    log: EventLog,
    keys: DataKeys,
    views: ViewStore,
    work: Sequence[Stage],
    *,
    bus: Bus,
    clock: Clock,
    deadline: timedelta,
    ceiling: int | None = None,
    hold: timedelta = HOLD,
) -> AsyncIterator[Running]:
    """Run every role in this process until left."""
    streams = Streams(log)
    runner = ViewRunner(log, views, keys)
    reading = Reading(log, views, runner, keys)

    async def caught_up() -> None:
        await runner.reached(await log.head())

    ring = KeyRing(caught_up, clock.monotonic)
    await runner.catch_up()
    ring.load(await reading.keys())
    runner.listen(ring.hear)
    admitting = Admitting(streams, clock, ceiling=ceiling, deadline=deadline)
    api = Api(streams, admitting, reading, ring, clock, hold=hold)
    manager = ProcessManager(streams, bus, reading, clock, restart_work=True)
    health = Health(log, runner)
    async with asyncio.TaskGroup() as tasks:
        roles = [
            tasks.create_task(runner.run(), name="views"),
            # From the end: what was issued before is issued again by the process manager.
            tasks.create_task(relay(log, bus, after=await log.head()), name="relay"),
            *(tasks.create_task(Runner(s, bus, clock).run(), name=s.name) for s in work),
            tasks.create_task(manager.run(), name="process-manager"),
        ]
        yield Running(build(api), api, streams, reading, health)
        for role in roles:
            role.cancel()
