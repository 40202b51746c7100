"""A database is used again only as good as new."""

import asyncio

import asyncpg

from harness.servers import databases
from harness.servers.databases import new_database, reused
from harness.servers.postgres import Postgres

#: What tests leave, and whether it can be taken out.
LEFT = {
    "CREATE TABLE t (a int); INSERT INTO t VALUES (1)": True,
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'": True,
    "CREATE TYPE pair AS (a int, b int)": True,
    "REVOKE ALL ON SCHEMA public FROM PUBLIC": True,
    "CREATE SCHEMA theirs": False,
    "CREATE SCHEMA theirs; CREATE EXTENSION btree_gist SCHEMA theirs": False,
    "SELECT lo_create(0)": False,
    "ALTER DATABASE {} SET work_mem = '1MB'": False,
    "REVOKE CONNECT ON DATABASE {} FROM PUBLIC": False,
    "ALTER DATABASE {} CONNECTION LIMIT 7": False,
    "CREATE PUBLICATION everything FOR ALL TABLES": False,
    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC": False,
}
_SCHEMA = (
    "SELECT nspacl::text, nspowner::regrole::text FROM pg_namespace WHERE nspname = 'public'"
)


async def test_what_a_test_leaves_is_gone_with_its_connections_or_the_database_is(
    own_postgres: Postgres,
) -> None:
    dsn = own_postgres.dsn
    open_still: list[asyncpg.Connection[asyncpg.Record]] = []
    async with new_database(dsn) as first:
        one = await asyncpg.connect(first)
        schema_of_a_new_one = await one.fetchrow(_SCHEMA)
        await one.close()
    wrong = []
    made: set[str] = set()
    databases._idle[dsn] = {}
    for statement, can_be_taken_out in LEFT.items():
        async with new_database(dsn) as used:
            connection = await asyncpg.connect(used)
            await connection.execute(statement.format(used.rpartition("/")[2]))
            open_still.append(connection)  # and forgotten by a test
            made.add(used)
        async with new_database(dsn) as again:
            connection = await asyncpg.connect(again)
            tables = await connection.fetchval(
                "SELECT count(*) FROM pg_tables WHERE tablename = 't'"
            )
            schema = await connection.fetchrow(_SCHEMA)
            await connection.close()
        if (again == used, tables, schema) != (can_be_taken_out, 0, schema_of_a_new_one):
            wrong.append((statement, again == used, tables, schema))
    idle = list(databases._idle.pop(dsn))
    for connection in open_still:
        connection.terminate()

    assert wrong == []
    assert len(idle) == 1


def test_none_is_there_any_more_when_they_are_not_used_again(own_postgres: Postgres) -> None:
    dsn = own_postgres.dsn

    async def names() -> list[str]:
        connection = await asyncpg.connect(dsn)
        rows = await connection.fetch(
            "SELECT datname FROM pg_database WHERE datname LIKE 'test%'"
        )
        await connection.close()
        return [row["datname"] for row in rows]

    async def use_two() -> list[str]:
        async with new_database(dsn), new_database(dsn):
            pass
        return await names()

    with reused(dsn):
        assert len(asyncio.run(use_two())) == 2
    assert asyncio.run(names()) == []
