"""Opening what several processes share in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.monitored_keys import MonitoredKeyStore
from cs.domain.service import World
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.postgres.snapshots import PostgresSnapshots
from cs.keystore.port import KeyStore
from cs.keystore.postgres import PostgresKeyStore
from cs.keystore.wrapping import MasterKeys, Wrapping
from cs.postgres.clock import DatabaseTime, SharedOffset
from cs.postgres.pool import Pool, check_address, connected, open_pool
from cs.postgres.schema import Store, check
from cs.projections.catalogue import projections
from cs.projections.postgres.views import PostgresViews
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.private_files import exposed
from cs.settings import BadSettings, Settings


class SharedStores(msgspec.Struct, frozen=True):
    """What roles that hold the master key share."""

    pool: Pool
    log: PostgresEventLog
    keys: KeyStore
    views: PostgresViews
    snapshots: PostgresSnapshots
    time: DatabaseTime


class SharedTime(msgspec.Struct, frozen=True):
    """The time of all roles.  ``offset`` moves a sandbox's; ``None`` in the live world."""

    clock: Clock
    time: DatabaseTime
    offset: SharedOffset | None


@asynccontextmanager
async def open_shared_stores(
    settings: Settings, role: str, world: World = "live"
) -> AsyncIterator[SharedStores]:
    """Open the databases of *settings* for *role*, in *world*.

    Raises:
        BadSettings: An address or the master key is missing or wrong, or in the live world
            a server elsewhere need not prove who it is.
        WrongSchema: A database is not of this version.
        WrongMasterKey: The key store was made with another.
        DatabaseUnavailable, KeysUnavailable: A database cannot be reached.
    """
    async with AsyncExitStack() as stack:
        pools = [_pool(settings, each, role, world) for each in ("postgres", "keys_postgres")]
        pool, keys_pool = [await stack.enter_async_context(each) for each in pools]
        await _checked(pool, "service")
        await _checked(keys_pool, "keys")
        store = await stack.enter_async_context(
            PostgresKeyStore(keys_pool, MasterKeys(lambda: _masters(settings)))
        )
        keys = MonitoredKeyStore(store)
        time = DatabaseTime(pool)
        await time.ask()
        events = await stack.enter_async_context(
            PostgresEventLog(pool, keys, waiting=settings.appends_waiting)
        )
        snapshots = await stack.enter_async_context(PostgresSnapshots(pool))
        views = PostgresViews(pool, projections())
        stack.push_async_callback(views.close)
        yield SharedStores(pool, events, keys, views, snapshots, time)


@asynccontextmanager
async def open_shared_key_store(
    settings: Settings, role: str
) -> AsyncIterator[PostgresKeyStore]:
    """Open the key store's database by itself; otherwise as `open_shared_stores`."""
    dsn = required(settings.keys_postgres, "keys_postgres")
    async with open_pool(dsn, role=role, most=settings.postgres_connections) as pool:
        await _checked(pool, "keys")
        async with PostgresKeyStore(pool, MasterKeys(lambda: _masters(settings))) as store:
            yield store


def next_master_key(settings: Settings) -> str:
    """Return the name of the master key that is to take the place of the one in use.

    Raises:
        BadSettings: There is none.
    """
    return Wrapping(read_key(settings.next_master_key_file, "next_master_key_file")).version


def _masters(settings: Settings) -> list[bytes]:
    """Return the master key, and while it is changed the one that takes its place."""
    masters = [read_key(settings.master_key_file, "master_key_file")]
    if settings.next_master_key_file is not None:
        masters.append(read_key(settings.next_master_key_file, "next_master_key_file"))
    return masters


@asynccontextmanager
async def open_stages_pool(
    settings: Settings, role: str, world: World = "live"
) -> AsyncIterator[Pool]:
    """Open the stages' own database; otherwise as `open_shared_stores`."""
    async with _pool(settings, "stages_postgres", role, world) as pool:
        await _checked(pool, "stages")
        yield pool


async def open_shared_time(time: DatabaseTime, world: World, stages: Pool | None) -> SharedTime:
    """Return the time of all roles: the database's, moved ahead in a sandbox.

    Raises:
        DatabaseUnavailable: The stages' database, where a sandbox's offset is, is away.
    """
    real = SystemClock(wall=time.now)
    if world == "live":
        return SharedTime(real, time, None)
    assert stages is not None, "a sandbox's roles share the stages' database"
    offset = SharedOffset(stages)
    return SharedTime(SandboxClock(await offset.load(), offset.keep, real), time, offset)


@asynccontextmanager
async def keep_time(shared: SharedTime) -> AsyncIterator[None]:
    """Ask for the database's time now and then, and follow a sandbox's clock, until left."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(shared.time.run(), name="time")]
        if shared.offset is not None and isinstance(shared.clock, SandboxClock):
            following = shared.offset.follow(shared.clock.moved)
            running.append(tasks.create_task(following, name="sandbox-clock"))
        try:
            yield
        finally:
            for task in running:
                task.cancel()


def required(value: str | None, setting: str) -> str:
    """Return *value*, which this role cannot do without.

    Raises:
        BadSettings: It is not set.
    """
    if value is None:
        raise BadSettings(f"{setting}: this role needs it; set CS_{setting.upper()}")
    return value


def read_key(file: Path | None, setting: str) -> bytes:
    """Return the 32-byte key in *file*, which the operator made.

    Raises:
        BadSettings: There is none, or it cannot be read.
    """
    how = (
        "make one with: (umask 077; head -c 32 /dev/urandom > FILE); "
        f"then set CS_{setting.upper()}=FILE"
    )
    if file is None:
        raise BadSettings(f"{setting}: this role needs it; {how}")
    try:
        if exposure := exposed(file):
            raise BadSettings(f"{setting}: {exposure}")
        key = file.read_bytes()
    except OSError as error:
        raise BadSettings(f"{setting}: {file} cannot be read: {error.strerror}") from error
    if len(key) != 32:
        raise BadSettings(f"{setting}: {file} holds {len(key)} bytes, not 32; {how}")
    return key


def _pool(
    settings: Settings, setting: str, role: str, world: World
) -> AbstractAsyncContextManager[Pool]:
    dsn = required(getattr(settings, setting), setting)
    insecure = settings.insecure_postgres or world == "sandbox"
    try:
        check_address(dsn, insecure=insecure)
    except ValueError as error:
        raise BadSettings(f"{setting}: {error}") from error
    return open_pool(
        dsn,
        role=role,
        most=settings.postgres_connections,
        insecure=insecure,
    )


async def _checked(pool: Pool, store: Store) -> None:
    async with connected(pool) as connection:
        await check(connection, store)
