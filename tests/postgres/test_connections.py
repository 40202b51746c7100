"""Connections to PostgreSQL: when it is away, and which servers get password and data."""

import asyncio
import gc
import re
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from cs.eventlog.port import LogUnavailable
from cs.postgres.pool import CONNECT_TIMEOUT_S, Pool, connected
from cs.sandbox.certificates import Authority
from harness.memory_keys import MemoryKeyStore
from harness.places import log_in, open_database
from harness.servers.own_folder import own_folder
from harness.servers.postgres import Postgres, account, running_postgres
from harness.servers.programs import find_binaries


async def away(dsn: str) -> str:
    """Open the database, which succeeds, and use it; return why that cannot be."""
    async with open_database(dsn) as pool, log_in(pool, MemoryKeyStore()) as log:
        with pytest.raises(LogUnavailable) as error:
            await log.head()
    return str(error.value)


async def refused(dsn: str, *, ask: bool = False) -> str:
    """Return why *dsn* is not opened, empty if it is."""
    try:
        async with open_database(dsn) as pool:
            if ask:
                await pool.fetch("SELECT 1")
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.slow
async def test_a_statement_that_is_cut_off_twice_leaves_no_error_behind(
    own_postgres: Postgres,
) -> None:
    """While the server, silent, is asked to give it up."""
    unseen, loop = list[str](), asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unseen.append(context["message"]))

    async def sleep(pool: Pool, begun: asyncio.Event) -> None:
        async with connected(pool) as connection:
            begun.set()
            await connection.execute("SELECT pg_sleep(60)")

    async with open_database(own_postgres.dsn) as pool:
        begun = asyncio.Event()
        task = asyncio.create_task(sleep(pool, begun))
        await begun.wait()
        own_postgres.suspend()
        try:
            for within_s in (0.5, 0.5):
                task.cancel()
                await asyncio.wait({task}, timeout=within_s)
            assert task.cancelled()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.wait(others, timeout=CONNECT_TIMEOUT_S + 5)
        finally:
            own_postgres.resume()
    del task, others
    gc.collect()
    assert unseen == []


async def test_a_database_that_is_away_or_not_there_is_reported(postgres: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    assert "PostgreSQL" in await away(f"postgresql://cs@127.0.0.1:{port}/x")
    assert "never_made" in await away(urlsplit(postgres)._replace(path="/never_made").geturl())


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("postgresql://cs@127.0.0.1/x?sslmode=maybe", "sslmode"),
        ("localhost:5432", "postgresql://"),
    ],
)
async def test_what_is_no_address_is_refused_at_once(address: str, why: str) -> None:
    assert why in await refused(address)


async def test_the_end_of_a_pool_does_not_wait_for_a_connection_in_use(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.postgres.pool.CLOSE_TIMEOUT_S", 0.1)
    async with asyncio.timeout(5):
        async with open_database(postgres) as pool:
            held = await pool.acquire()
    with pytest.raises(asyncpg.InterfaceError, match="released"):
        await held.fetchval("SELECT 1")


# TLS.


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of a server that speaks TLS as ``localhost``, and who signed for it."""
    authority = Authority(tmp_path_factory.mktemp("ca"))
    with own_folder() as folder:
        file = folder / "server.pem"
        file.write_bytes(authority.pem(["localhost"]))
        file.chmod(0o600)
        owner = account()
        if owner:
            shutil.chown(file, owner["user"], owner["group"])
        settings = {"ssl": "on", "ssl_cert_file": str(file), "ssl_key_file": str(file)}
        binaries = find_binaries(tls=True)
        with running_postgres(
            folder / "postgres", binaries=binaries, settings=settings
        ) as server:
            yield server.port, authority.ca_file


@pytest.mark.slow  # a PostgreSQL of its own
async def test_a_server_is_known_by_the_authority_of_its_certificate(
    certified: tuple[int, Path],
) -> None:
    port, ca_file = certified
    dsn = f"postgresql://cs@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={ca_file}"
    async with open_database(dsn) as pool:
        used = await pool.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")

    assert used is True


@pytest.mark.slow  # a PostgreSQL of its own
async def test_a_server_with_a_certificate_of_another_authority_is_refused(
    certified: tuple[int, Path], tmp_path: Path
) -> None:
    port, _ = certified
    other = Authority(tmp_path).ca_file
    dsn = f"postgresql://cs@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={other}"
    assert "certificate" in await away(dsn)


async def test_a_server_without_tls_is_refused_where_tls_is_demanded(postgres: str) -> None:
    assert "SSL" in await away(f"{postgres}?sslmode=require")


# Servers that need not prove who they are.

USER = "postgresql://cs:secret@"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:///cs",
        f"{USER}/cs?host=/run/postgresql",
        f"{USER}127.0.0.1/cs",
        f"{USER}127.20.0.1:6000/cs?sslmode=disable",
        f"{USER}[::1]:5432/cs",
        f"{USER}localhost/cs",
        f"{USER}127.0.0.1,localhost:5433/cs",
    ],
)
async def test_a_server_on_this_machine_needs_no_certificate(address: str) -> None:
    assert await refused(address) == ""


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        (f"{USER}db.internal/cs", "db.internal"),
        (f"{USER}DB.internal:6000/cs?sslmode=prefer", "DB.internal"),
        *(
            (f"{USER}db/cs?sslmode={mode}", "db")
            for mode in ("disable", "allow", "prefer", "require")
        ),
        (f"{USER}127.0.0.1,db-2:5433,db-3/cs", "db-2, db-3"),
        (f"{USER}/cs?host=db-2,localhost", "db-2"),
        (f"{USER}%64b/cs", "db"),
        (f"{USER}10.0.0.1/cs", "10.0.0.1"),
        (f"{USER}[fe80::1]/cs", "fe80::1"),
        (f"{USER}localhost.example/cs", "localhost.example"),
        (f"{USER}127.1/cs", "127.1"),
    ],
)
async def test_another_machine_is_named(address: str, hosts: str) -> None:
    assert (await refused(address)).startswith(f"{hosts} is on another machine")


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
async def test_only_a_certificate_for_that_very_host_is_proof(
    tmp_path: Path, mode: str
) -> None:
    file = Authority(tmp_path).ca_file
    found = await refused(f"{USER}db.internal/cs?sslmode={mode}&sslrootcert={file}")

    assert (found == "") == (mode == "verify-full")


async def test_what_asyncpg_takes_from_the_environment_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "db.internal")
    assert (await refused("postgresql:///cs")).startswith("db.internal ")

    monkeypatch.setenv("PGSSLMODE", "verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", str(Authority(tmp_path).ca_file))
    assert await refused("postgresql:///cs") == ""
    assert await refused("postgresql:///cs?sslmode=prefer")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("sslmode=maybe", "sslmode"),
        ("sslmode=verify-full&sslrootcert=/nowhere", "sslrootcert.*No such file"),
        (f"sslmode=verify-full&sslrootcert={__file__}", "sslrootcert"),
    ],
)
async def test_an_option_that_cannot_be_used_is_reported(options: str, message: str) -> None:
    assert re.search(message, await refused(f"{USER}db.internal/cs?{options}"))


@pytest.mark.parametrize("password", ["sec/ret", "sec?ret=1", "sec\u2100ret", "sec#ret"])
async def test_an_address_that_cannot_be_read_is_not_repeated(password: str) -> None:
    why = await refused(f"postgresql://cs:{password}@db.internal/cs")

    assert "no address" in why or "port" in why
    assert "sec" not in why
    assert "ret" not in why
