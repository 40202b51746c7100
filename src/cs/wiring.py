"""Builds every object from settings: the one module that names concrete classes."""

import asyncio
import socket
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

from cs.admin.app import Health
from cs.api.admitting import Admitting
from cs.api.app import build
from cs.api.key_ring import KeyRing
from cs.api.routes import HOLD, Api
from cs.bus.memory import MemoryBus
from cs.bus.port import Bus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.clock import Clock, SystemClock
from cs.data_folder import DataFolder, DataFolderError
from cs.domain.ranking import CONTACTS
from cs.domain.service import World
from cs.eventlog.mapper import DataKeys
from cs.eventlog.port import EventLog, LogUnavailable
from cs.eventlog.sqlite import SqliteEventLog
from cs.eventlog.streams import Streams
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


class RunningService(msgspec.Struct, frozen=True):
    """A service that runs: its parts, for whoever serves or tests it."""

    app: ASGIApp
    api: Api
    streams: Streams
    reading: Reading
    health: Health


def stages(tools: Tools) -> Sequence[Stage]:
    return (
        BrandResolution(Resolving(tools.brand_sources)),
        ContactDiscovery(tools.people_sources),
        Ranking(),
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
    contacts: int = CONTACTS,
    hold: timedelta = HOLD,
) -> AsyncIterator[RunningService]:
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
    admitting = Admitting(streams, clock, ceiling=ceiling, deadline=deadline, contacts=contacts)
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
        yield RunningService(build(api), api, streams, reading, health)
        for role in roles:
            role.cancel()


@asynccontextmanager
async def outside(settings: Settings) -> AsyncIterator[Tools]:
    """Open the clients to the outside world and what asks with them.

    Raises:
        BadSettings: A source or verifier that is named is not there, or cannot be used.
    """
    clock = SystemClock()
    resolver = DnsResolver(_nameserver(settings.dns), DNS_TIMEOUT_S)
    networks = [ip_network(network) for network in settings.allow_networks]
    guard = Guard(networks, frozenset(settings.web_ports))
    agent = user_agent(settings.contact)
    ca_file = settings.ca_file
    async with (
        TrustedClient(user_agent=agent, ca_file=ca_file) as trusted,
        GuardedClient(
            guard, resolver, user_agent=agent, web_ports=settings.web_ports, ca_file=ca_file
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
async def opened(folder: DataFolder) -> AsyncIterator[Data]:
    """Open what is in *folder*, beside a running service or without one.

    Raises:
        DataFolderError: It is damaged, or the keys are not those of the log.
    """
    try:
        async with AsyncExitStack() as stack:
            keys = await stack.enter_async_context(_data_keys(folder))
            events = await stack.enter_async_context(SqliteEventLog(folder.log, keys))
            views = _views(folder)
            stack.callback(views.close)
            yield Data(events, keys, views)
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
    settings: Settings, tools: Tools, world: World
) -> AsyncIterator[RunningService]:
    """Run the whole service in this process on the settings' data folder.

    Raises:
        DataFolderError: The folder cannot be used.
        Refusal: ``other-world``: the data belongs to the other world.
    """
    folder = DataFolder(settings.data_dir)
    with folder.held():
        async with opened(folder) as data:
            clock = SystemClock()
            await Operator(Streams(data.log), clock).choose_world(world)
            async with running(
                data.log,
                data.keys,
                data.views,
                stages(tools),
                bus=memory_bus(),
                clock=clock,
                deadline=timedelta(seconds=settings.lookup_deadline_s),
                ceiling=settings.lookups_per_day,
                contacts=settings.contacts,
            ) as service:
                yield service


@asynccontextmanager
async def sandboxed(
    settings: Settings, world: SandboxWorld, folder: Path
) -> AsyncIterator[Settings]:
    """Run *world* until left; yield *settings* pointed at it."""
    async with open_sandbox(world, folder=folder) as addresses:
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
