"""Pools of connections to the databases that the settings name, keys in files, and the time.

Nothing here knows what is in a database but its schema: a stage's process, which opens one,
imports no event log.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from cs.admin.sandbox_clock import SandboxClock
from cs.domain.service import World
from cs.paid_calls.budgets import Budgets, account_away
from cs.paid_calls.register import CallRegister, calls_away
from cs.postgres.clock import DatabaseTime, SharedOffset
from cs.postgres.pool import Pool, check_address, connected, open_pool
from cs.postgres.schema import Store, check
from cs.postgres.sql import PostgresDatabase
from cs.runtime.clock import Clock, SystemClock
from cs.settings import BadSettings, Settings
from cs.settings.secret_files import read_secret

_KEY_BYTES = 32


def pool_of(
    settings: Settings, setting: str, role: str, world: World = "live"
) -> AbstractAsyncContextManager[Pool]:
    """Return what opens a pool on the database whose address is in *setting*.

    Raises:
        BadSettings: At once: the address is missing or wrong, or in the live world a server
            elsewhere need not prove who it is.
    """
    insecure = settings.insecure_postgres or world == "sandbox"
    dsn = checked_address(settings, setting, insecure=insecure)
    return open_pool(dsn, role=role, most=settings.postgres_connections, insecure=insecure)


def checked_address(settings: Settings, setting: str, *, insecure: bool) -> str:
    """Return the address of a database that is in *setting*.

    Raises:
        BadSettings: It is missing or wrong, or without *insecure* a server elsewhere need not
            prove who it is.
    """
    dsn = required(getattr(settings, setting), setting)
    try:
        check_address(dsn, insecure=insecure)
    except ValueError as error:
        raise BadSettings(f"{setting}: {error}") from error
    return dsn


async def check_schema(pool: Pool, store: Store) -> None:
    """Pass if the database of *pool* has this version's schema of *store*.

    Raises:
        WrongSchema: It has not.
        DatabaseUnavailable: It cannot be reached.
    """
    async with connected(pool) as connection:
        await check(connection, store)


@asynccontextmanager
async def open_stages_pool(
    settings: Settings, role: str, world: World = "live"
) -> AsyncIterator[Pool]:
    """Open the stages' own database; raises as `pool_of` and `check_schema`."""
    async with pool_of(settings, "stages_postgres", role, world) as pool:
        await check_schema(pool, "stages")
        yield pool


def shared_calls(pool: Pool, key: bytes | None = None) -> CallRegister:
    """Return the register of paid calls behind *pool*, to the stages' database.

    Without *key* it can only erase calls and say which are remembered.
    """
    return CallRegister(PostgresDatabase(pool, calls_away), lambda: key or b"")


def shared_budgets(pool: Pool, settings: Settings) -> Budgets:
    """Return the account of paid services behind *pool*, to the stages' database."""
    return Budgets(PostgresDatabase(pool, account_away), settings.spending_caps)


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
        BadSettings: There is none, others may read it, or it cannot be read.
    """
    how = (
        f"make one with: (umask 077; head -c {_KEY_BYTES} /dev/urandom > FILE); "
        f"then set CS_{setting.upper()}=FILE"
    )
    if file is None:
        raise BadSettings(f"{setting}: this role needs it; {how}")
    key = read_secret(file, setting, _KEY_BYTES)
    if len(key) != _KEY_BYTES:
        raise BadSettings(f"{setting}: {file} is not of {_KEY_BYTES} bytes; {how}")
    return key


class SharedTime(msgspec.Struct, frozen=True):
    """The time of all roles.

    Attributes:
        offset: By how much a sandbox's time is moved; ``None`` in the live world.
    """

    clock: Clock
    time: DatabaseTime
    offset: SharedOffset | None


async def open_shared_time(
    time: DatabaseTime, world: World, stages_pool: Pool | None
) -> SharedTime:
    """Return the time in *world*; a sandbox's offset is in the stages' database.

    Raises:
        DatabaseUnavailable: The stages' database cannot be reached.
    """
    real = SystemClock(wall=time.now)
    if world == "live":
        return SharedTime(real, time, None)
    assert stages_pool is not None, "a sandbox's roles share the stages' database"
    offset = SharedOffset(stages_pool)
    return SharedTime(SandboxClock(await offset.load(), offset.keep, real), time, offset)


@asynccontextmanager
async def keep_time(
    shared: SharedTime, *work: Coroutine[Any, Any, None]
) -> AsyncIterator[None]:
    """Keep *shared* up to date, and run *work* next to that, until left.

    That asks for the database's time now and then, and follows a sandbox's clock.
    """
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each) for each in (shared.time.run(), *work)]
        if shared.offset is not None and isinstance(shared.clock, SandboxClock):
            following = shared.offset.follow(shared.clock.moved)
            running.append(tasks.create_task(following))
        try:
            yield
        finally:
            for task in running:
                task.cancel()
