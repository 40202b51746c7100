"""A row for each process, which it renews every few seconds, for `cs status` of a cluster.

The roles that hold the service's database write it there, the stages in theirs.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import Any, NoReturn

import asyncpg
import msgspec

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, connected, translate_errors

#: How often a process renews its row.
EVERY_S = 5.0
#: One that has not done so for this long is gone, or has lost its database.
SILENT_S = 30.0
#: Rows not renewed for this long are removed.
KEPT_S = 86_400.0
#: Longest time for what `/readyz` says, and most bytes of it that are stored.
CHECK_S = 10.0
MAX_HEALTH = 16_384

#: What `/readyz` answers: whether the process is ready, and the body.
Check = Callable[[], Awaitable[tuple[bool, Mapping[str, Any]]]]


def process_name() -> str:
    """Return this process's name in leases and reports, for people: ``host:pid``."""
    return f"{socket.gethostname()}:{os.getpid()}"


class ProcessState(msgspec.Struct, frozen=True, kw_only=True):
    """A process as it reported itself.

    Attributes:
        up_s: Seconds since it started.
        seen_s: Seconds since its last report.
        health: The body of its `/readyz`.
    """

    role: str
    process: str
    version: str
    up_s: float
    seen_s: float
    ready: bool
    health: Mapping[str, Any]

    @property
    def silent(self) -> bool:
        return self.seen_s > SILENT_S


class ProcessReport:
    """Reports this process, which is of *role*, from `begin` on."""

    def __init__(self, pool: Pool, role: str) -> None:
        self._pool = pool
        self._role = role
        self._check: asyncio.Future[Check] = asyncio.get_running_loop().create_future()

    def begin(self, check: Check) -> None:
        """Report what *check* returns."""
        if not self._check.done():
            self._check.set_result(check)

    async def run(self) -> NoReturn:
        """Renew the row until cancelled, then remove it."""
        check, first = await self._check, True
        name, release = process_name(), version("contact-search")
        try:
            while True:
                ready, health = await _checked(check)
                with suppress(*_LOST):  # it is silent until the database is there again
                    async with asyncio.timeout(CHECK_S):
                        async with connected(self._pool) as connection:
                            await connection.execute(
                                _REPORT, name, self._role, release, ready, health, first
                            )
                            await connection.execute(_SWEEP, KEPT_S)
                    first = False
                await asyncio.sleep(EVERY_S)
        finally:
            with suppress(*_LOST), translate_errors():
                async with asyncio.timeout(1):
                    await self._pool.execute("DELETE FROM processes WHERE process = $1", name)


_LOST = (DatabaseUnavailable, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)


async def _checked(check: Check) -> tuple[bool, str]:
    try:
        async with asyncio.timeout(CHECK_S):
            ready, body = await check()
    except TimeoutError:
        ready, body = False, {"why": f"no answer within {CHECK_S:g} s"}
    except Exception as error:  # noqa: BLE001 - the next report may succeed
        ready, body = False, {"why": type(error).__name__}
    health = msgspec.json.encode(body).decode()
    return ready, health if len(health) <= MAX_HEALTH else '{"why": "too long to be stored"}'


async def read_processes(pool: Pool) -> Sequence[ProcessState]:
    """Return every process that reported itself in the database of *pool*, by role.

    Raises:
        DatabaseUnavailable: PostgreSQL is away.
    """
    async with connected(pool) as connection:
        rows = await connection.fetch(_READ)
    return [
        ProcessState(**{**row, "health": msgspec.json.decode(row["health"], type=dict)})
        for row in rows
    ]


_REPORT = """
INSERT INTO processes (process, role, version, started_at, seen_at, ready, health)
VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp(), $4, $5)
ON CONFLICT (process) DO UPDATE
SET role = excluded.role, version = excluded.version, seen_at = excluded.seen_at,
    ready = excluded.ready, health = excluded.health,
    started_at = CASE WHEN $6 THEN excluded.started_at ELSE processes.started_at END
"""
_SWEEP = "DELETE FROM processes WHERE seen_at < clock_timestamp() - $1 * interval '1 second'"
_READ = """
SELECT role, process, version, ready, health,
    round(extract(epoch FROM clock_timestamp() - started_at), 1)::float8 AS up_s,
    round(extract(epoch FROM clock_timestamp() - seen_at), 1)::float8 AS seen_s
FROM processes ORDER BY role, process
"""
