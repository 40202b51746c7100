"""Databases that a test has for itself, on a server that it shares.

To make one is to write three hundred files, which a test then waits for.  So a process of tests
empties those of its shared servers and uses them again (`reused`), as long as nothing of a test
is left in them: 175 tests that have one each take 2 to 5 s of processor less, of 21 to 26.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeAlias
from urllib.parse import urlsplit

import asyncpg

_Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

#: After as many tests one is dropped: of each, rows of its catalogue stay until a vacuum.
_USES = 30
#: For the connections of a test to end.
_END_MS = 10_000
#: Makes the schema of a new database anew, with all that was in it.
_EMPTIED = """
DROP SCHEMA IF EXISTS public CASCADE;
CREATE SCHEMA public AUTHORIZATION pg_database_owner;
GRANT USAGE ON SCHEMA public TO PUBLIC;
"""
#: What is not of the server's own making begins here (`FirstNormalObjectId`).
_OWN = 16_384
#: Anything by which a database differs from one that is made now.
_LEFT = f"""
SELECT EXISTS (SELECT FROM pg_class WHERE oid >= {_OWN})
    OR EXISTS (SELECT FROM pg_type WHERE oid >= {_OWN})
    OR EXISTS (SELECT FROM pg_proc WHERE oid >= {_OWN})
    OR EXISTS (SELECT FROM pg_namespace WHERE oid >= {_OWN} AND nspname <> 'public')
    OR EXISTS (SELECT FROM pg_extension WHERE oid >= {_OWN})
    OR EXISTS (SELECT FROM pg_largeobject_metadata)
    OR EXISTS (SELECT FROM pg_default_acl)
    OR EXISTS (SELECT FROM pg_publication)
    OR EXISTS (SELECT FROM pg_event_trigger)
    OR EXISTS (
        SELECT FROM pg_database AS this
        LEFT JOIN pg_db_role_setting AS setting ON setting.setdatabase = this.oid
        WHERE datname = current_database()
          AND (setting.setconfig IS NOT NULL OR datacl IS NOT NULL OR datconnlimit <> -1
               OR datdba <> (SELECT oid FROM pg_roles WHERE rolname = current_user))
    )
"""


#: Databases that nobody uses now, with how many tests each has served, by their server's DSN;
#: no entry where each is dropped by who used it.
_idle: dict[str, dict[str, int]] = {}


@contextmanager
def reused(dsn: str) -> Iterator[None]:
    """Let databases on the server of *dsn* be used again until left, then drop them."""
    _idle[dsn] = {}
    try:
        yield
    finally:
        asyncio.run(_drop(dsn, [*_idle.pop(dsn)]))


@asynccontextmanager
async def new_database(dsn: str) -> AsyncIterator[str]:
    """Make an empty database on the server of *dsn*; gone on leaving, whoever uses it."""
    idle = _idle.get(dsn)
    name, uses = idle.popitem() if idle else (await _made(dsn), 0)
    own = urlsplit(dsn)._replace(path=f"/{name}").geturl()
    try:
        yield own
    except BaseException:
        await _drop(dsn, [name])
        raise
    if dsn in _idle and uses + 1 < _USES and await _is_as_new(own):
        _idle[dsn][name] = uses + 1
    else:
        await _drop(dsn, [name])


async def _made(dsn: str) -> str:
    name = f"test_{secrets.token_hex(8)}"
    async with _connected(dsn) as connection:
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    return name


async def _drop(dsn: str, names: list[str]) -> None:
    if names:
        async with _connected(dsn) as connection:
            for name in names:
                await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def _is_as_new(dsn: str) -> bool:
    """Take everything out of the database *dsn*; return whether it is like a new one then."""
    try:
        async with _connected(dsn) as connection:
            await connection.execute(
                f"SELECT pg_terminate_backend(pid, {_END_MS}) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            await connection.execute(_EMPTIED)
            return not await connection.fetchval(_LEFT)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        return False  # somebody has left something in the way


@asynccontextmanager
async def _connected(dsn: str) -> AsyncIterator[_Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()
