import asyncio
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import DedicatedConnection, connected, open_pool
from cs.sandbox.certificates import Authority
from harness.servers.own_folder import own_folder
from harness.servers.postgres import account, running_postgres
from harness.servers.programs import find_binaries


async def test_a_pool_opens_while_its_database_is_away() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    async with open_pool(f"postgresql://cs@127.0.0.1:{port}/x", role="test") as pool:
        with pytest.raises(DatabaseUnavailable):
            async with connected(pool):
                pass


async def test_an_address_with_a_wrong_option_is_not_the_database_being_away() -> None:
    with pytest.raises(ValueError, match="sslmode"):
        async with open_pool("postgresql://cs@127.0.0.1/x?sslmode=maybe", role="test"):
            pass


async def test_what_is_no_address_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="postgresql://"):
        async with open_pool("localhost:5432", role="test"):
            pass


async def test_a_database_that_is_not_there_is_away(postgres: str) -> None:
    dsn = urlsplit(postgres)._replace(path="/never_made").geturl()
    async with open_pool(dsn, role="test") as pool:
        with pytest.raises(DatabaseUnavailable, match="never_made"):
            async with connected(pool):
                pass


async def test_the_end_of_a_pool_does_not_wait_for_a_connection_in_use(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.postgres.pool.CLOSE_TIMEOUT_S", 0.1)
    async with asyncio.timeout(5):
        async with open_pool(postgres, role="test") as pool:
            held = await pool.acquire()
    with pytest.raises(asyncpg.InterfaceError, match="released"):
        await held.fetchval("SELECT 1")


async def test_a_kept_connection_is_the_same_until_it_dies(postgres: str) -> None:
    async with open_pool(postgres, role="test") as pool:
        kept = DedicatedConnection(pool)
        first = await kept.get()
        pid = first.get_server_pid()
        assert (await kept.get()).get_server_pid() == pid

        with pytest.raises(asyncpg.PostgresError):
            await first.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        other = await kept.get()

        assert other.get_server_pid() != pid
        assert await other.fetchval("SELECT 1") == 1
        await kept.drop()
        assert pool.get_size() == 0


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
async def test_a_server_is_known_by_who_signed_its_certificate(
    certified: tuple[int, Path],
) -> None:
    port, ca_file = certified
    dsn = f"postgresql://cs@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={ca_file}"
    async with open_pool(dsn, role="test") as pool:
        used = await pool.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")

    assert used is True


@pytest.mark.slow  # a PostgreSQL of its own
async def test_a_server_that_somebody_else_signed_for_is_refused(
    certified: tuple[int, Path], tmp_path: Path
) -> None:
    port, _ = certified
    other = Authority(tmp_path).ca_file
    dsn = f"postgresql://cs@localhost:{port}/postgres?sslmode=verify-full&sslrootcert={other}"
    async with open_pool(dsn, role="test") as pool:
        with pytest.raises(DatabaseUnavailable, match="certificate"):
            async with connected(pool):
                pass


async def test_a_server_without_tls_is_refused_where_tls_is_demanded(postgres: str) -> None:
    async with open_pool(f"{postgres}?sslmode=require", role="test") as pool:
        with pytest.raises(DatabaseUnavailable, match="SSL"):
            async with connected(pool):
                pass
