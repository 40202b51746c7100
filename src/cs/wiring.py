"""Builds every object from settings: the one module that names concrete classes."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from sqlite3 import DatabaseError, OperationalError
from typing import TypeVar

import msgspec
from eventsourcing.persistence import PersistenceError
from starlette.types import ASGIApp
from structlog import get_logger

from cs.admin.advancing import Advancing
from cs.admin.app import Health
from cs.admin.sandbox_clock import BadOffset, SandboxClock
from cs.api.admitting import Admitting
from cs.api.app import build
from cs.api.holds import HOLDS, Holds
from cs.api.key_ring import KeyRing
from cs.api.limits import CHECKS_PER_MINUTE
from cs.api.lines import PLACES, Lines
from cs.api.lookups_running import LOOKUPS, LookupsRunning
from cs.api.routes import HOLD, SEARCHES_IN_LINE, Api
from cs.bus.memory import MemoryBus
from cs.bus.port import Bus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.clock import Clock, SystemClock
from cs.data_folder import DataFolder, DataFolderError
from cs.domain.ranking import CONTACTS
from cs.domain.service import World
from cs.erasure import Erasure
from cs.eventlog.follow import patiently
from cs.eventlog.port import EventLog, LogUnavailable
from cs.eventlog.snapshots import Snapshots
from cs.eventlog.sqlite import SqliteEventLog
from cs.eventlog.sqlite_snapshots import SqliteSnapshots
from cs.eventlog.streams import Streams
from cs.keystore.port import KeyStore
from cs.keystore.sqlite import SqliteKeyStore, WrongMasterKey, master_key
from cs.operator import Operator
from cs.outside.guard import Guard
from cs.outside.http import GuardedClient, TrustedClient, user_agent
from cs.outside.resolver import DnsResolver
from cs.pipeline.brand_resolution import BrandResolution
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.process_manager import GROUP, ProcessManager
from cs.pipeline.ranking import Ranking
from cs.pipeline.relay import relay
from cs.pipeline.resolving import Resolving
from cs.pipeline.runner import Runner
from cs.pipeline.stage import Stage
from cs.pipeline.suppressing import Met, Suppressing
from cs.pipeline.verification import Verification
from cs.projections.brands import Brands
from cs.projections.projection import Projection
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.searches import Searches
from cs.projections.store import ViewStore
from cs.projections.usage import Usage
from cs.sandbox.run import open_sandbox
from cs.sandbox.shapes import World as SandboxWorld
from cs.settings import BadSettings, Settings
from cs.sources.port import BrandSource, PeopleSource
from cs.sources.registry import BrokenPlugin, brand_sources, people_sources
from cs.sources.registry import Context as SourceContext
from cs.verifiers.port import Verifier
from cs.verifiers.registry import BrokenVerifier, Setting, UnknownVerifier, discover
from cs.verifiers.registry import Context as VerifierContext

S = TypeVar("S", BrandSource, PeopleSource)

log = get_logger()

#: Beside the data of a sandbox whose clock was moved: by how many seconds.
CLOCK_FILE = "clock"
#: Of one DNS question, retries included.
DNS_TIMEOUT_S = 5.0


class Tools(msgspec.Struct, frozen=True):
    """What the stages ask the outside world with."""

    brand_sources: Sequence[BrandSource]
    people_sources: Sequence[PeopleSource]
    verifiers: Sequence[Verifier]


def projections() -> Sequence[Projection]:
    return (Searches(), Usage(), Brands())


class Data(msgspec.Struct, frozen=True):
    """What a data folder holds, open."""

    log: SqliteEventLog
    keys: SqliteKeyStore
    views: ViewStore
    snapshots: SqliteSnapshots


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What the API takes on at once (docs/operations.md, "Overload")."""

    holds: int = HOLDS
    lookups: int = LOOKUPS
    calls_per_key: int = PLACES


BOUNDS = Bounds()


class RunningService(msgspec.Struct, frozen=True):
    """A service that runs: its parts, for whoever serves or tests it."""

    app: ASGIApp
    api: Api
    streams: Streams
    reading: Reading
    health: Health
    manager: ProcessManager


def stages(tools: Tools) -> Sequence[Stage]:
    return (
        BrandResolution(Resolving(tools.brand_sources)),
        ContactDiscovery(tools.people_sources),
        Ranking(),
        Verification(tools.verifiers),
    )


def _suppressing(erasure: Erasure, keys: KeyStore) -> Suppressing:
    async def erase(met: Met) -> None:
        await patiently(lambda: erasure.erase(met.print_, met.prints, [met.name]))

    return Suppressing(keys, erase)


def memory_bus(*, waiting: int | None = None) -> MemoryBus:
    """Return a bus that knows every group of this service."""
    return MemoryBus(
        [(OUTCOMES, GROUP), *((topic, name) for name, topic in STAGE_TOPICS.items())],
        waiting=waiting,
    )


@asynccontextmanager
async def running(
    log: EventLog,
    keys: KeyStore,
    views: ViewStore,
    work: Sequence[Stage],
    *,
    bus: Bus,
    clock: Clock,
    deadline: timedelta,
    ceiling: int | None = None,
    contacts: int = CONTACTS,
    hold: timedelta = HOLD,
    bounds: Bounds = BOUNDS,
    snapshots: Snapshots | None = None,
) -> AsyncIterator[RunningService]:
    """Run every role in this process until left."""
    streams = Streams(log, snapshots)
    runner = ViewRunner(log, views, keys)
    reading = Reading(log, views, runner, keys)

    async def caught_up() -> None:
        await runner.reached(await log.head())

    ring = KeyRing(caught_up, clock.monotonic)
    await runner.catch_up()
    ring.load(await reading.keys())
    runner.listen(ring.hear)
    lookups = LookupsRunning(bounds.lookups)
    lookups.load((await reading.unfinished()).lookups)
    runner.listen(lookups.hear)
    admitting = Admitting(
        streams, clock, ceiling=ceiling, deadline=deadline, contacts=contacts, lookups=lookups
    )
    api = Api(
        streams,
        admitting,
        reading,
        ring,
        clock,
        hold=hold,
        holds=Holds(bounds.holds),
        searches=Lines(bounds.calls_per_key, SEARCHES_IN_LINE),
        reads=Lines(bounds.calls_per_key, CHECKS_PER_MINUTE),
    )
    manager = ProcessManager(
        streams,
        bus,
        reading,
        clock,
        restart_work=True,
        monotonic=time.monotonic,
        suppressing=_suppressing(Erasure(streams, keys, clock, caught_up), keys),
    )
    health = Health(log, runner)
    async with asyncio.TaskGroup() as tasks:
        roles = [
            tasks.create_task(runner.run(), name="views"),
            # From the end: what was issued before is issued again by the process manager.
            tasks.create_task(relay(log, bus, after=await log.head()), name="relay"),
            *(tasks.create_task(Runner(s, bus, clock).run(), name=s.name) for s in work),
            tasks.create_task(manager.run(), name="process-manager"),
        ]
        yield RunningService(build(api), api, streams, reading, health, manager)
        for role in roles:
            role.cancel()


@asynccontextmanager
async def outside(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Tools]:
    """Open the clients to the outside world and what asks with them.

    Raises:
        BadSettings: A source or verifier that is named is not there, or cannot be used.
    """
    clock = clock or SystemClock()
    resolver = DnsResolver(_nameserver(settings.dns), DNS_TIMEOUT_S)
    networks = [ip_network(network) for network in settings.allow_networks]
    guard = Guard(networks, frozenset(settings.web_ports))
    agent = user_agent(settings.contact)
    ca_file = settings.ca_file
    async with (
        TrustedClient(user_agent=agent, ca_file=ca_file) as trusted,
        GuardedClient(
            guard,
            resolver,
            user_agent=agent,
            web_ports=settings.web_ports,
            ca_file=ca_file,
            monotonic=clock.monotonic,
        ) as guarded,
    ):
        urls = {"wikidata_url": settings.wikidata_url, "searxng_url": settings.searxng_url}
        context = SourceContext(
            trusted=trusted,
            guarded=guarded,
            settings={name: url for name, url in urls.items() if url is not None},
            now=clock.now,
        )
        smtp: dict[str, Setting] = {
            "helo": settings.smtp_helo or socket.getfqdn(),
            "mail_from": settings.smtp_mail_from,
            "port": settings.smtp_port,
        }
        try:
            verifiers = discover(
                lambda name: VerifierContext(
                    settings=smtp if name == "smtp" else {},
                    resolver=resolver,
                    guard=guard,
                    fetcher=trusted,
                    now=clock.now,
                    monotonic=clock.monotonic,
                ),
                enabled=settings.verifiers,
            )
            yield Tools(
                _enabled("brand_sources", brand_sources(context), settings.brand_sources),
                _enabled("people_sources", people_sources(context), settings.people_sources),
                verifiers,
            )
        except (BrokenPlugin, BrokenVerifier, UnknownVerifier) as error:
            raise BadSettings(str(error)) from error


@asynccontextmanager
async def opened(
    folder: DataFolder, *, appends_waiting: int | None = None
) -> AsyncIterator[Data]:
    """Open what is in *folder*, beside a running service or without one.

    Raises:
        DataFolderError: It is damaged, or the keys are not those of the log.
    """
    try:
        async with AsyncExitStack() as stack:
            keys = await stack.enter_async_context(_data_keys(folder))
            events = await stack.enter_async_context(
                SqliteEventLog(folder.log, keys, waiting=appends_waiting)
            )
            snapshots = await stack.enter_async_context(SqliteSnapshots(folder.log))
            views = _views(folder)
            stack.callback(views.close)
            yield Data(events, keys, views, snapshots)
    except (WrongMasterKey, LogUnavailable, PersistenceError, DatabaseError) as error:
        raise DataFolderError(
            f"the data in {folder.path} cannot be used: {error}; bring it back from a backup, "
            "or name another folder with --data-dir"
        ) from error


def _data_keys(folder: DataFolder) -> SqliteKeyStore:
    try:
        return SqliteKeyStore(folder.data_keys, master_key(folder.master_key))
    except OSError as error:
        raise DataFolderError(
            f"{error.filename or folder.path} cannot be used: {error.strerror or error}"
        ) from error


def _views(folder: DataFolder) -> ViewStore:
    """Open the views, made anew if they are damaged: the log knows everything in them."""
    try:
        return ViewStore(folder.views, projections())
    except OperationalError:
        raise  # locked, full or not ours: nothing is wrong with what is in them
    except DatabaseError as error:
        log.warning("views_damaged", error=str(error))
        for suffix in ("", "-wal", "-shm"):
            folder.views.with_name(folder.views.name + suffix).unlink(missing_ok=True)
        return ViewStore(folder.views, projections())


@asynccontextmanager
async def embedded(
    settings: Settings, tools: Tools, world: World, clock: Clock | None = None
) -> AsyncIterator[RunningService]:
    """Run the whole service in this process on the settings' data folder.

    Raises:
        DataFolderError: The folder cannot be used, or holds a moved clock and *world* is live.
        Refusal: ``other-world``: the data belongs to the other world.
    """
    folder = DataFolder(settings.data_dir)
    with folder.held():
        async with opened(folder, appends_waiting=settings.appends_waiting) as data:
            clock = clock or SystemClock()
            await Operator(Streams(data.log, data.snapshots), clock).choose_world(world)
            _check_time(folder.path, world)
            async with running(
                data.log,
                data.keys,
                data.views,
                stages(tools),
                bus=memory_bus(waiting=settings.messages_waiting),
                clock=clock,
                deadline=timedelta(seconds=settings.lookup_deadline_s),
                ceiling=settings.lookups_per_day,
                contacts=settings.contacts,
                snapshots=data.snapshots,
                bounds=Bounds(
                    holds=settings.holds,
                    lookups=settings.lookups_at_once,
                    calls_per_key=settings.calls_per_key,
                ),
            ) as service:
                yield service


@asynccontextmanager
async def sandboxed(
    settings: Settings, world: SandboxWorld, folder: Path, clock: SandboxClock
) -> AsyncIterator[Settings]:
    """Run *world* until left; yield *settings* pointed at it."""
    async with open_sandbox(
        world, folder=folder, clock=clock.monotonic, sleep=clock.sleep
    ) as addresses:
        yield msgspec.structs.replace(
            settings,
            # The bundled directory tells of the real world; here it would mislead.
            brand_sources=("wikidata", "website"),
            people_sources=("searxng",),
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
        return SandboxClock(data_dir / CLOCK_FILE)
    except BadOffset as error:
        raise DataFolderError(str(error)) from error


async def clock_beside(streams: Streams, data_dir: Path) -> Clock:
    """Return the clock that the service on *data_dir* goes by, for a command beside it.

    Raises:
        DataFolderError: The clock was moved and the data is not a sandbox's.
    """
    if not (data_dir / CLOCK_FILE).exists():
        return SystemClock()
    _check_time(data_dir, (await streams.service()).state.world)
    return sandbox_clock(data_dir)


def advancing(service: RunningService, clock: SandboxClock) -> Advancing:
    """Return what moves the *clock* of *service*."""
    return Advancing(clock, service.health.events, service.health.views, service.manager)


def _check_time(folder: Path, world: World | None) -> None:
    file = folder / CLOCK_FILE
    if world != "sandbox" and file.exists():
        raise DataFolderError(
            f"{file} moves the clock, which only a sandbox may; delete it, or name another "
            "folder with --data-dir"
        )


def _enabled(setting: str, sources: Sequence[S], names: Sequence[str] | None) -> Sequence[S]:
    """Return those of *sources* that *names* names, in that order; all without names."""
    if names is None:
        return sources
    by_name = {source.name: source for source in sources}
    missing = [name for name in names if name not in by_name]
    if missing:
        installed = ", ".join(by_name)
        raise BadSettings(f"{setting}: {missing[0]!r} is not installed; there are {installed}")
    return [by_name[name] for name in names]


def _nameserver(dns: str | None) -> tuple[str, int] | None:
    if dns is None:
        return None
    host, _, port = dns.rpartition(":")
    if not host or not port.isdecimal():
        raise BadSettings(f"dns: {dns!r} is not host:port, for example 127.0.0.1:53")
    return host.strip("[]"), int(port)
