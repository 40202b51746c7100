"""The whole service on keys that can be put back to what they were: on files, on databases."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from cs.assembly.plugins import StagePlugins
from cs.assembly.postgres_stores import open_shared_stores
from cs.settings import Settings
from harness.in_process import Service, on_folder, one_process
from harness.places import migrated_database, open_database


class Form(ABC):
    """Where a service keeps its data."""

    settings: Settings

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that point a command at the data."""
        chosen = self.settings
        where = {"CS_DATA_DIR": str(chosen.data_dir)}
        if chosen.postgres is not None:
            where |= {
                "CS_POSTGRES": chosen.postgres,
                "CS_KEYS_POSTGRES": str(chosen.keys_postgres),
                "CS_MASTER_KEY_FILE": str(chosen.master_key_file),
            }
        return where

    @abstractmethod
    def service(self, outside: StagePlugins) -> Any:
        """Run the service until left; an async context manager of a `Service`."""

    @abstractmethod
    async def copy_keys(self) -> None:
        """Copy the key store."""

    @abstractmethod
    async def put_keys_back(self) -> None:
        """Restore the copied key store, under the processes that have it open."""

    @abstractmethod
    async def forget_views(self) -> None:
        """Make the next start rebuild the views."""


class OnFiles(Form):
    def __init__(self, folder: Path) -> None:
        self.settings = Settings(data_dir=folder)
        self._keys = folder / "keys.db"
        self._copy = folder.with_name("older-keys.db")

    def service(self, outside: StagePlugins) -> Any:
        return on_folder(self.settings.data_dir, outside)

    async def copy_keys(self) -> None:
        self._copied(self._keys, self._copy)

    async def put_keys_back(self) -> None:
        self._copied(self._copy, self._keys)

    async def forget_views(self) -> None:
        for file in self.settings.data_dir.glob("views.db*"):
            file.unlink()

    def _copied(self, source: Path, target: Path) -> None:
        with (
            closing(sqlite3.connect(source)) as here,
            closing(sqlite3.connect(target)) as there,
        ):
            here.backup(there)


class OnDatabases(Form):
    def __init__(self, service: str, keys: str, folder: Path) -> None:
        master = folder / "master.key"
        master.write_bytes(b"m" * 32)
        master.chmod(0o600)
        self.settings = Settings(
            data_dir=folder, postgres=service, keys_postgres=keys, master_key_file=master
        )

    @asynccontextmanager
    async def service(self, outside: StagePlugins) -> AsyncIterator[Service]:
        async with (
            open_shared_stores(self.settings, "test") as data,
            one_process(
                data.log, data.keys, data.views, outside, deadline_s=60, world="live"
            ) as service,
        ):
            yield service

    async def copy_keys(self) -> None:
        await self._execute(
            self.settings.keys_postgres,
            *(f"CREATE TABLE older_{table} AS TABLE {table}" for table in _TABLES),
        )

    async def put_keys_back(self) -> None:
        """Do what a standby that lagged behind does: every connection is cut."""
        await self._execute(
            self.settings.keys_postgres,
            *(f"TRUNCATE {table}" for table in _TABLES),
            *(f"INSERT INTO {table} SELECT * FROM older_{table}" for table in _TABLES),
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )

    async def forget_views(self) -> None:
        await self._execute(self.settings.postgres, "DELETE FROM view_builds")

    async def _execute(self, dsn: str | None, *statements: str) -> None:
        assert dsn is not None
        async with open_database(dsn) as pool, pool.acquire() as connection:
            for statement in statements:
                await connection.execute(statement)


_TABLES = ("data_key", "person_index", "suppressed")


@asynccontextmanager
async def on_new_databases(postgres: str, folder: Path) -> AsyncIterator[OnDatabases]:
    """Yield a form on two databases of its own, with their tables, on the server *postgres*."""
    async with (
        migrated_database(postgres) as service,
        migrated_database(postgres) as keys,
    ):
        yield OnDatabases(service, keys, folder)


@asynccontextmanager
async def form_of(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Form]:
    """Yield the form that is the parameter of *request*: on ``files``, or on ``databases``."""
    if request.param == "files":
        yield OnFiles(folder / "data")
        return
    async with on_new_databases(request.getfixturevalue("postgres"), folder) as form:
        yield form
