"""Our own service on PostgreSQL, as far as the thin path needs it: ``cs api``, ``cs project``.

Both are processes of their own.  Nothing here speaks to Kafka: what is answered was found
before, and is copied from the log of a service in one process.
"""

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from cli.command import environment
from cs.assembly.folder import open_folder
from cs.assembly.postgres_stores import open_shared_stores
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import STORES, migrate
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings, load
from harness.service_process import ServiceProcess


class SharedService:
    """Two databases on the server of *dsn*, dropped on leaving, and processes on them."""

    def __init__(self, stack: ExitStack, dsn: str, folder: Path) -> None:
        self._stack = stack
        self._dsn = dsn
        self._key_file = folder / "master.key"
        self._key_file.touch(mode=0o600)
        self._key_file.write_bytes(secrets.token_bytes(32))
        self._names = [f"bench_{secrets.token_hex(4)}" for _ in range(2)]

    @property
    def environment(self) -> dict[str, str]:
        log, keys = (urlsplit(self._dsn)._replace(path=f"/{n}").geturl() for n in self._names)
        return environment(
            CS_POSTGRES=log,
            CS_KEYS_POSTGRES=keys,
            CS_MASTER_KEY_FILE=str(self._key_file),
            CS_LOG_LEVEL="error",
            NO_COLOR="1",
        )

    @property
    def _settings(self) -> Settings:
        return load(environment=self.environment)

    async def make(self, found: Path, brand: str) -> None:
        """Make both databases; *brand* was searched for by the service on *found*, a folder."""
        await self._each("CREATE DATABASE {}")
        self._stack.callback(self._drop)
        for name, store in zip(self._names, STORES, strict=False):
            address = urlsplit(self._dsn)._replace(path=f"/{name}").geturl()
            async with open_pool(address, role="bench") as pool, connected(pool) as connection:
                await migrate(connection, store)
        stream = brand_stream(Query(brand))
        async with open_folder(DataFolder(found, make=False)) as data:
            events = [each.event for each in await data.log.read(stream)]
        async with open_shared_stores(self._settings, "bench") as data:
            await Operator(Streams(data.log), SystemClock()).choose_world("live")
            await data.log.append([Append(stream, NO_STREAM, events)])

    async def new_keys(self, number: int) -> list[str]:
        """Return the secrets of *number* new keys."""
        async with open_shared_stores(self._settings, "bench") as data:
            operator = Operator(Streams(data.log), SystemClock())
            made = [operator.create_key(f"key-{n}", 10) for n in range(number)]
            return [new.key for new in await asyncio.gather(*made)]

    def start(self, *words: str) -> ServiceProcess:
        """Start a role, which runs until it is left."""
        role = ServiceProcess(words[0], [*words, "--admin-port=0"], self.environment)
        self._stack.callback(role.end)
        role.start()
        role.wait_ready()
        return role

    async def _each(self, statement: str) -> None:
        connection = await asyncpg.connect(self._dsn)
        try:
            for name in self._names:
                await connection.execute(statement.format(name))
        finally:
            await connection.close()

    def _drop(self) -> None:
        with ThreadPoolExecutor(1) as thread:  # the caller's has a loop that runs
            dropped = self._each("DROP DATABASE {} WITH (FORCE)")
            thread.submit(asyncio.run, dropped).result()


def url_of(api: ServiceProcess) -> str:
    """Return where *api*, which runs, is called."""
    assert api.ready_line is not None, "it is ready"
    return api.ready_line.string.split(" at ")[1].split("/v1")[0]
