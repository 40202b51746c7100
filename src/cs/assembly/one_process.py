"""The whole service in one process: every role, on a data folder and a bus in memory.

`run_service` connects the parts, whatever stores they are given; `run_embedded` opens a data
folder for it, and `run_sandbox` a made-up world.  The stores themselves are named in
`cs.assembly.folder_stores`, what asks the outside world in `cs.assembly.plugins`, and the
roles over several processes in `cs.assembly.roles`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import assert_never

import msgspec
from starlette.types import ASGIApp
from structlog import get_logger

from cs.admin.app import Health
from cs.admin.clock_advance import OneProcessClockAdvancer
from cs.admin.errors import BadClockOffset
from cs.admin.sandbox_clock import SandboxClock
from cs.api.api import Api
from cs.api.app import build
from cs.assembly.call_answering import ApiTerms, api_terms, build_api, reached_end
from cs.assembly.folder_stores import erase_paid_calls, folder_of, open_folder
from cs.assembly.plugins import StagePlugins, check_world, unusable_settings
from cs.assembly.sandbox_plugins import plugins_in_sandbox
from cs.bus.memory import MemoryBus
from cs.bus.port import Bus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.domain.service import World
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import StageName
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import EventLog
from cs.eventlog.snapshots import Snapshots
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.operations.erasure.ageing import Ageing
from cs.operations.erasure.person import Erasure
from cs.operations.operator import Operator
from cs.operations.retention import Retention
from cs.pipeline.brand_resolution import BrandResolution
from cs.pipeline.brand_resolver import BrandResolver
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.misconfiguration import Misconfiguration
from cs.pipeline.outcomes import GROUP
from cs.pipeline.process_manager import ProcessManager
from cs.pipeline.ranking import Ranking
from cs.pipeline.receipts import SHARED, Receipts
from cs.pipeline.relay import relay
from cs.pipeline.runner import Runner
from cs.pipeline.stage import Stage
from cs.pipeline.suppression import SuppressedPerson, SuppressionFilter
from cs.pipeline.verification import Verification
from cs.projections.port import Views
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolderError
from cs.sandbox.run import Addresses, open_sandbox
from cs.sandbox.shapes import World as SandboxWorld
from cs.settings import Settings

log = get_logger()

#: Beside the data of a sandbox whose clock was moved: by how many seconds.
CLOCK_FILE = "clock"


class RunningService(msgspec.Struct, frozen=True):
    """A service that runs: its parts, for whoever serves or tests it."""

    app: ASGIApp
    api: Api
    streams: Streams
    reading: Reading
    health: Health
    manager: ProcessManager


def build_stage(name: StageName, plugins: StagePlugins) -> Stage:
    """Return the stage called *name*, which asks the outside with *plugins*."""
    match name:
        case "brand-resolution":
            return BrandResolution(
                BrandResolver(plugins.brand_sources), plugins.misconfiguration
            )
        case "contact-discovery":
            return ContactDiscovery(plugins.people_sources, plugins.misconfiguration)
        case "ranking":
            return Ranking()
        case "verification":
            return Verification(plugins.verifiers, plugins.misconfiguration)
        case _:
            assert_never(name)


def build_stages(plugins: StagePlugins) -> Sequence[Stage]:
    return tuple(build_stage(name, plugins) for name in STAGES)


def build_suppression(erasure: Erasure, keys: KeyStore) -> SuppressionFilter:
    async def erase(met: SuppressedPerson) -> None:
        with suppress(DamagedEvent):  # it is set aside; the others are without them
            await retry_while_unavailable(
                lambda: erasure.erase(met.print_, met.prints, [met.name])
            )

    return SuppressionFilter(keys, erase)


def memory_bus(*, waiting: int | None = None) -> MemoryBus:
    """Return a bus that knows every group of this service."""
    return MemoryBus(
        [(OUTCOMES, GROUP), *((topic, name) for name, topic in STAGE_TOPICS.items())],
        waiting=waiting,
    )


@asynccontextmanager
async def run_service(
    log: EventLog,
    keys: KeyStore,
    views: Views,
    work: Sequence[Stage],
    *,
    bus: Bus,
    clock: Clock,
    allowed: ApiTerms,
    kept_for_months: int | None = None,
    snapshots: Snapshots | None = None,
    real: Clock | None = None,
    misconfiguration: Misconfiguration | None = None,
    forget_calls: Callable[[Iterable[str]], Awaitable[int]] | None = None,
) -> AsyncIterator[RunningService]:
    """Run every role in this process until left.

    The silence of stages is measured by *real*, the machine's clock unless given.  What was
    remembered of paid calls of a lookup in which somebody is erased goes by *forget_calls*.
    """
    streams = Streams(log, snapshots)
    runner = ViewRunner(log, views, keys, set_aside=streams.set_aside)
    runner.listen_early(streams.on_events)
    reading = Reading(log, views, runner, keys)
    api = await build_api(streams, runner, reading, clock=clock, allowed=allowed)
    receipts = Receipts(await keys.secret(SHARED))
    reflected = reached_end(log, runner)
    erasure = Erasure(streams, keys, clock, reflected, forget_calls=forget_calls)
    manager = ProcessManager(
        streams,
        bus,
        reading,
        clock,
        restart_work=True,
        receipts=receipts,
        verifiers=[v.name for s in work if isinstance(s, Verification) for v in s.verifiers],
        real=real or SystemClock(),
        suppression=build_suppression(erasure, keys),
    )
    retention = None
    if kept_for_months is not None:
        ageing = Ageing(streams, keys, clock, reflected, forget_calls=forget_calls)
        retention = Retention(log, views, ageing, clock, months=kept_for_months)
    health = Health(log, runner, keys, misconfiguration)
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
                    set_aside=streams.set_aside,
                ),
                name="relay",
            ),
            tasks.create_task(streams.set_aside.watch(), name="set-aside"),
            # Nothing is waited for on leaving: the bus forgets it, the log does not.
            *(
                tasks.create_task(Runner(each, bus, clock, drain_s=0).run(), name=each.name)
                for each in work
            ),
            tasks.create_task(manager.run(), name="process-manager"),
        ]
        if retention is not None:
            roles.append(tasks.create_task(retention.run(), name="retention"))
        yield RunningService(build(api), api, streams, reading, health, manager)
        for role in roles:
            role.cancel()


@asynccontextmanager
async def run_embedded(
    settings: Settings, plugins: StagePlugins, world: World, clock: Clock | None = None
) -> AsyncIterator[RunningService]:
    """Run the whole service in this process on the settings' data folder.

    Raises:
        BadSettings: One is for a sandbox, and *world* is live.
        DataFolderError: The folder cannot be used, or holds a moved clock and *world* is live.
        Refusal: ``other-world``: the data belongs to the other world.
    """
    check_world(settings, world)
    folder = folder_of(settings)
    if unused := folder.unused_master_key:
        log.warning("two_master_keys", used=str(folder.master_key), unused=str(unused))
    with folder.held():
        async with open_folder(folder, appends_waiting=settings.appends_waiting) as data:
            clock = clock or SystemClock()
            await Operator(Streams(data.log, data.snapshots), clock).choose_world(world)
            _check_time(folder.path, world)
            plugins.misconfiguration.begin(unusable_settings(plugins))
            async with run_service(
                data.log,
                data.keys,
                data.views,
                build_stages(plugins),
                bus=memory_bus(waiting=settings.messages_waiting),
                clock=clock,
                allowed=api_terms(settings),
                kept_for_months=settings.people_kept_for,
                snapshots=data.snapshots,
                misconfiguration=plugins.misconfiguration,
                forget_calls=partial(erase_paid_calls, settings),
            ) as service:
                yield service


@asynccontextmanager
async def run_sandbox(
    settings: Settings, world: SandboxWorld, folder: Path, clock: SandboxClock
) -> AsyncIterator[Settings]:
    """Run *world* until left; yield *settings* pointed at it."""
    async with open_sandbox(
        world, folder=folder, clock=clock.monotonic, sleep=clock.sleep
    ) as addresses:
        yield settings_for_sandbox(settings, addresses)


def settings_for_sandbox(settings: Settings, addresses: Addresses) -> Settings:
    """Return *settings* of a service that asks the made-up world at *addresses*."""
    return msgspec.structs.replace(
        settings,
        plugins=plugins_in_sandbox(settings.plugins),
        wikidata_url=addresses.wikidata_url,
        searxng_url=addresses.searxng_url,
        dns=addresses.dns,
        smtp_port=addresses.smtp_port,
        smtp_helo="contact-search.sandbox.test",
        smtp_mail_from="probe@contact-search.sandbox.test",
        web_ports=addresses.web_ports,
        ca_file=addresses.ca_file,
        allow_networks=addresses.allow_networks,
    )


def sandbox_clock(data_dir: Path) -> SandboxClock:
    """Return the clock of the sandbox service on *data_dir*, which may not exist yet.

    Raises:
        DataFolderError: What is kept of the clock is damaged.
    """
    try:
        return SandboxClock.on_file(data_dir / CLOCK_FILE)
    except BadClockOffset as error:
        raise DataFolderError(str(error)) from error


async def clock_of_data(streams: Streams, data_dir: Path) -> Clock:
    """Return the clock that the service on *data_dir* goes by, for a command beside it.

    Raises:
        DataFolderError: The clock was moved and the data is not a sandbox's.
    """
    if not (data_dir / CLOCK_FILE).exists():
        return SystemClock()
    _check_time(data_dir, (await streams.service()).state.world)
    return sandbox_clock(data_dir)


def clock_advance(service: RunningService, clock: SandboxClock) -> OneProcessClockAdvancer:
    """Return what moves the *clock* of *service*."""
    return OneProcessClockAdvancer(
        clock, service.health.events, service.health.views, service.manager
    )


def _check_time(folder: Path, world: World | None) -> None:
    file = folder / CLOCK_FILE
    if world != "sandbox" and file.exists():
        raise DataFolderError(
            f"{file} moves the clock, which only a sandbox may; delete it, or name another "
            "folder with --data-dir"
        )
