"""The databases and their users, made on real servers by the scripts that containers run."""

import subprocess
import sys

import asyncpg
import pytest

from cli.command import environment
from deploy.compose_files import project
from deploy.databases import Databases

STORES = {
    "service": ("postgres", "cs_service"),
    "stages": ("postgres", "cs_stages"),
    "keys": ("keys-postgres", "cs_keys"),
}
pytestmark = pytest.mark.slow


async def _may_connect(dsn: str) -> bool:
    try:
        connection = await asyncpg.connect(dsn)
    except (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidPasswordError):
        return False
    await connection.close()
    return True


@pytest.mark.parametrize("store", STORES)
async def test_the_migration_connects_to_every_database(
    databases: Databases, store: str
) -> None:
    server, user = STORES[store]

    assert await _may_connect(databases.dsn(user, store, "migrate_pgpass", server))


@pytest.mark.parametrize("database", ["service", "postgres", "template1"])
async def test_the_user_of_the_stages_connects_to_nothing_else(
    databases: Databases, database: str
) -> None:
    assert await _may_connect(databases.dsn("cs_stages", "stages", "stages_pgpass"))

    everywhere = databases.secrets / "everywhere"
    password = (databases.secrets / "stages_password").read_text()
    everywhere.write_text(f"*:*:*:cs_stages:{password}\n")
    everywhere.chmod(0o600)
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="CONNECT"):
        await asyncpg.connect(databases.dsn("cs_stages", database, "everywhere"))


async def test_the_user_of_the_stages_is_unknown_to_the_key_store(databases: Databases) -> None:
    server = databases.servers["keys-postgres"]
    connection = await asyncpg.connect(server.dsn)
    users = await connection.fetch("SELECT rolname FROM pg_roles WHERE rolcanlogin")
    await connection.close()

    assert {user["rolname"] for user in users} == {"cs", "cs_keys"}


async def test_the_service_does_not_read_what_stages_remember(databases: Databases) -> None:
    password = (databases.secrets / "service_password").read_text()
    everywhere = databases.secrets / "service_everywhere"
    everywhere.write_text(f"*:*:*:cs_service:{password}\n")
    everywhere.chmod(0o600)

    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="CONNECT"):
        await asyncpg.connect(databases.dsn("cs_service", "stages", "service_everywhere"))


async def test_a_password_is_asked_for(databases: Databases) -> None:
    none = databases.secrets / "none"
    none.write_text("*:*:*:cs_stages:wrong\n")
    none.chmod(0o600)

    assert not await _may_connect(databases.dsn("cs_stages", "stages", "none"))


@pytest.mark.parametrize("store", STORES)
async def test_a_user_is_nobody_special(databases: Databases, store: str) -> None:
    server, user = STORES[store]
    connection = await asyncpg.connect(databases.dsn(user, store, "migrate_pgpass", server))
    row = await connection.fetchrow(
        "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls"
        " FROM pg_roles WHERE rolname = current_user"
    )
    memberships = await connection.fetchval(
        "SELECT count(*) FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member"
        " WHERE r.rolname = current_user"
    )
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute("COPY (SELECT 1) TO PROGRAM 'true'")
    await connection.close()

    assert row is not None
    assert not any(row.values())
    assert memberships == 0


def test_the_command_of_compose_brings_all_three_up_to_this_version(
    databases: Databases,
) -> None:
    words: list[str] = project()["services"]["migrate"]["command"]
    here = [databases.of_this_machine(word) for word in words]

    first = _told(here)
    second = _told(here)

    assert [line.partition(":")[0] for line in first] == ["service", "keys", "stages"]
    assert all("applied 1 " in line for line in first)
    assert second == [f"{store}: nothing to do" for store in ("service", "keys", "stages")]


def _told(words: list[str]) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-m", "cs", *words],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.splitlines()
