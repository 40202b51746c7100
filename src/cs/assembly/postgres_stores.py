"""The stores that several processes share in PostgreSQL: the log, the keys, the views."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from cs.assembly.databases import check_schema, pool_of, read_key
from cs.assembly.monitored_keys import MonitoredKeyStore
from cs.assembly.process_manager import Stores
from cs.domain.service import World
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.snapshots import Snapshots, snapshots_away
from cs.keystore.postgres import PostgresKeyStore
from cs.keystore.wrapping import MasterKeys, Wrapping
from cs.metrics.metrics import Metrics
from cs.postgres.clock import DatabaseTime
from cs.postgres.pool import Pool
from cs.postgres.sql import PostgresDatabase
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.settings import Settings


class SharedStores(Stores, frozen=True, kw_only=True):
    """The stores of the roles that hold the master key, open."""

    log: PostgresEventLog
    pool: Pool
    time: DatabaseTime


@asynccontextmanager
async def open_shared_stores(
    settings: Settings, role: str, world: World = "live", metrics: Metrics | None = None
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
        # Both addresses are checked before either is asked for a connection.
        names = ("postgres", "keys_postgres")
        pools = [pool_of(settings, name, role, world) for name in names]
        pool, keys_pool = [await stack.enter_async_context(each) for each in pools]
        await check_schema(pool, "service")
        await check_schema(keys_pool, "keys")
        store = await stack.enter_async_context(
            PostgresKeyStore(
                keys_pool,
                MasterKeys(lambda: _masters(settings)),
                metrics,
                settings.erasure_journal,
            )
        )
        keys = MonitoredKeyStore(store)
        time = DatabaseTime(pool)
        await time.ask()
        events = await stack.enter_async_context(
            PostgresEventLog(pool, keys, waiting=settings.appends_waiting, metrics=metrics)
        )
        snapshots = await stack.enter_async_context(
            Snapshots(PostgresDatabase(pool, snapshots_away))
        )
        views = postgres_views(pool, projections())
        stack.push_async_callback(views.close)
        yield SharedStores(
            log=events, keys=keys, views=views, snapshots=snapshots, pool=pool, time=time
        )


@asynccontextmanager
async def open_shared_key_store(
    settings: Settings, role: str
) -> AsyncIterator[PostgresKeyStore]:
    """Open the key store's database by itself; otherwise as `open_shared_stores`."""
    async with pool_of(settings, "keys_postgres", role) as pool:
        await check_schema(pool, "keys")
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
