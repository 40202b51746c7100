"""Databases for tests are empty, and a server keeps what it was told through its ends."""

import asyncio
import sys
from typing import Any

import asyncpg
import pytest

from harness.servers.missing import Missing
from harness.servers.postgres import Postgres
from harness.servers.programs import find_binaries

TABLES = "SELECT count(*) FROM pg_stat_user_tables"


async def run(dsn: str, *statements: str) -> Any:
    """Return the first value of the last statement."""
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements[:-1]:
            await connection.execute(statement)
        return await connection.fetchval(statements[-1])
    finally:
        await connection.close()


async def test_a_database_is_empty_and_takes_tables(every_database: str) -> None:
    assert await run(every_database, TABLES) == 0
    assert await run(every_database, "CREATE TABLE kept (n int)", TABLES) == 1


async def test_a_database_is_utf8_and_says_so(database: str) -> None:
    assert await run(database, "SHOW server_encoding") == "UTF8"
    assert await run(database, "SELECT length('Ærø')") == 3


@pytest.mark.slow
@pytest.mark.parametrize("end", [Postgres.stop, Postgres.kill])
async def test_what_was_committed_is_there_after_the_next_start(
    own_postgres: Postgres, end: Any
) -> None:
    wrote = await run(
        own_postgres.dsn, "CREATE TABLE kept AS SELECT 7 AS n", "SELECT n FROM kept"
    )

    end(own_postgres)
    with pytest.raises(ConnectionRefusedError):
        await asyncpg.connect(own_postgres.dsn)
    own_postgres.start()

    assert wrote == 7
    assert await run(own_postgres.dsn, "SELECT n FROM kept") == 7


@pytest.mark.slow
async def test_a_suspended_server_lets_callers_wait(own_postgres: Postgres) -> None:
    own_postgres.suspend()
    asking = asyncio.ensure_future(run(own_postgres.dsn, "SELECT 7"))
    waited, _ = await asyncio.wait([asking], timeout=0.5)

    own_postgres.resume()

    assert (waited, await asking) == (set(), 7)


@pytest.mark.slow
def test_a_durable_server_writes_through(own_postgres: Postgres) -> None:
    assert asyncio.run(run(own_postgres.dsn, "SHOW fsync")) == "on"


def test_the_packaged_servers_come_before_those_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CS_TEST_MACHINE_SERVERS", raising=False)

    assert find_binaries().folder.is_relative_to(sys.prefix)
    assert find_binaries().version == 18


def test_a_version_that_is_not_here_is_named_with_what_is() -> None:
    newest = find_binaries().version

    with pytest.raises(Missing, match=rf"There is no PostgreSQL 9, only .*{newest}"):
        find_binaries(9)
