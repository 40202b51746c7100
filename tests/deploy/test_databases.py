"""The databases and their users, made on real servers by the scripts that containers run."""

from collections.abc import Callable

import asyncpg
import pytest

from cli.command import environment
from deploy.compose_files import project
from deploy.databases import Databases
from harness.forked_process import run_command

STORES = {
    "service": ("postgres", "cs_service"),
    "stages": ("postgres", "cs_stages"),
    "keys": ("keys-postgres", "cs_keys"),
}
pytestmark = pytest.mark.slow

#: Returns the DSN of a database on the first server, for a user and with that password.
Dsn = Callable[[str, str, str], str]


@pytest.fixture(scope="module")
def dsn(databases: Databases) -> Dsn:
    def made(user: str, database: str, password: str) -> str:
        file = databases.secrets / f"{user}-{database}-{len(password)}"
        file.write_text(f"*:*:*:{user}:{password}\n")
        file.chmod(0o600)
        return databases.dsn(user, database, file.name)

    return made


@pytest.mark.parametrize("store", STORES)
async def test_the_migration_connects_as_users_without_special_rights(
    databases: Databases, store: str
) -> None:
    server, user = STORES[store]
    connection = await asyncpg.connect(databases.dsn(user, store, "migrate_pgpass", server))
    row = await connection.fetchrow(
        "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls,"
        " EXISTS (SELECT 1 FROM pg_auth_members WHERE member = pg_roles.oid)"
        " FROM pg_roles WHERE rolname = current_user"
    )
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute("COPY (SELECT 1) TO PROGRAM 'true'")
    await connection.close()

    assert row is not None
    assert not any(row.values())


@pytest.mark.parametrize(
    ("user", "database"),
    [
        *(("cs_stages", name) for name in ("service", "postgres", "template1")),
        ("cs_service", "stages"),  # the service does not read what stages remember
    ],
)
async def test_a_user_connects_to_no_database_but_its_own(
    databases: Databases, dsn: Dsn, user: str, database: str
) -> None:
    password = (databases.secrets / f"{user.removeprefix('cs_')}_password").read_text()
    own = await asyncpg.connect(dsn(user, user.removeprefix("cs_"), password))
    await own.close()

    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="CONNECT"):
        await asyncpg.connect(dsn(user, database, password))


async def test_the_key_store_has_no_user_but_its_own(databases: Databases) -> None:
    connection = await asyncpg.connect(databases.servers["keys-postgres"].dsn)
    users = await connection.fetch("SELECT rolname FROM pg_roles WHERE rolcanlogin")
    await connection.close()

    assert {user["rolname"] for user in users} == {"cs", "cs_keys"}


async def test_a_wrong_password_is_refused(dsn: Dsn) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(dsn("cs_stages", "stages", "wrong"))


def test_the_command_of_compose_brings_all_three_up_to_this_version(
    databases: Databases,
) -> None:
    words: list[str] = project()["services"]["migrate"]["command"]
    here = [databases.of_this_machine(word) for word in words]
    first, second = (
        run_command(here, environment()).stdout.splitlines() for _ in ("first", "second")
    )

    assert [line.partition(":")[0] for line in first] == ["service", "keys", "stages"]
    assert all("applied 1 " in line for line in first)
    assert second == [f"{store}: nothing to do" for store in ("service", "keys", "stages")]
