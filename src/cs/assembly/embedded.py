"""The whole service in one process, on a data folder: what ``cs serve`` runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from structlog import get_logger

from cs.admin.sandbox_clock import ClockAdvancer, SandboxClock
from cs.assembly.call_answering import api_terms
from cs.assembly.folder_clock import check_clock
from cs.assembly.folder_keys import folder_of
from cs.assembly.folder_paid_calls import erase_paid_calls
from cs.assembly.folder_stores import open_folder
from cs.assembly.measured_process import measured_process
from cs.assembly.one_process import RunningService, memory_bus, run_service
from cs.assembly.people_directory import open_directory
from cs.assembly.plugins import StagePlugins, unusable_settings
from cs.assembly.stages import build_stages
from cs.assembly.world_check import check_world
from cs.domain.service import World
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.operations.operator import Operator
from cs.projections.runner import REST_S
from cs.runtime.clock import Clock, SystemClock
from cs.settings import Settings

log = get_logger()


@asynccontextmanager
async def run_embedded(
    settings: Settings,
    plugins: StagePlugins,
    world: World,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
) -> AsyncIterator[RunningService]:
    """Run the whole service in this process on the settings' data folder.

    Args:
        settings: Name the folder, and limit what is done at once.
        plugins: What the stages ask the outside world with.
        world: Which the data must belong to; new data is tied to it.
        clock: The machine's if ``None``.
        metrics: Where all of it is counted.

    Raises:
        BadSettings: One is for a sandbox, and *world* is live.
        DataFolderError: The folder cannot be used, or holds a moved clock and *world* is live.
        Refusal: ``other-world``: the data belongs to the other world.
    """
    check_world(settings, world)
    folder = folder_of(settings)
    if unused := folder.unused_master_key:
        log.warning("two_master_keys", used=str(folder.master_key), unused=str(unused))
    metrics = metrics or Metrics()
    with folder.held():
        async with (
            measured_process(metrics, "serve", world),
            open_folder(
                folder, appends_waiting=settings.appends_waiting, metrics=metrics
            ) as data,
            open_directory(settings, world, "serve") as directory,
        ):
            clock = clock or SystemClock()
            await Operator(Streams(data.log, data.snapshots), clock).choose_world(world)
            check_clock(folder.path, world)
            plugins.misconfiguration.begin(unusable_settings(plugins))
            async with run_service(
                data.log,
                data.keys,
                data.views,
                build_stages(plugins),
                bus=memory_bus(waiting=settings.messages_waiting, metrics=metrics),
                clock=clock,
                allowed=api_terms(settings),
                kept_for_months=settings.people_kept_for,
                snapshots=data.snapshots,
                misconfiguration=plugins.misconfiguration,
                foreign_verifiers=settings.foreign_verifiers,
                forget_calls=partial(erase_paid_calls, settings),
                directory=directory,
                metrics=metrics,
                rest=partial(asyncio.sleep, REST_S),
            ) as service:
                yield service


def clock_advance(service: RunningService, clock: SandboxClock) -> ClockAdvancer:
    """Return what moves *clock*, which *service* goes by."""
    return ClockAdvancer(clock, service.streams.log, service.views, service.manager)
