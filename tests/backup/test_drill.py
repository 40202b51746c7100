"""``cs backup drill``: whether data can be restored, tried without touching the service."""

import os
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cli.command import ran
from cs.settings import Settings
from harness.in_process import Service, one_process
from harness.on_data import data_of
from harness.servers.databases import new_database
from harness.servers.programs import every_binaries
from operations.erasure.service import outside

pytestmark = pytest.mark.slow

#: Left by drills that were killed: long ago, just now, and something with such a name.
LEFT = (
    f"cs_drill_{int(time.time()) - 90_000}_0123abcd_keys_postgres",
    f"cs_drill_{int(time.time())}_0123abcd_postgres",
    "cs_drill_of_mine",
)
DRILLS = "SELECT datname FROM pg_database WHERE datname ~ '^cs_drill_' ORDER BY datname"
BY_QUERY = "postgresql://cs@127.0.0.1:1/keys?dbname="


@asynccontextmanager
async def searched(place: Path | Settings) -> AsyncIterator[tuple[Service, str]]:
    """Run a service on *place*; yield it with the id of a search that has ended."""
    async with (
        data_of(place) as data,
        one_process(data.log, data.keys, data.views, outside()) as service,
    ):
        found = await service.search(await service.new_key(), brand="Acme")
        yield service, found.json()["id"]


def drilled(within: Path, *words: str, **settings: str) -> dict[str, Any]:
    """Return the report of a drill that works in *within*, and leaves nothing there."""
    within.mkdir(exist_ok=True)
    done = ran("backup", "drill", f"--within={within}", "--json", *words, **settings)
    assert done.code == 0, done
    assert list(within.iterdir()) == []
    (report,) = done.rows
    return report


async def test_a_folder_next_to_its_running_service(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with searched(folder) as (service, search):
        report = drilled(tmp_path / "within", f"--data-dir={folder}")
        head = await service.running.streams.log.head()

    assert (report["form"], report["search"]) == ("data folder", search)
    assert (report["events"], report["violations"]) == (head, 0)
    assert report["rto_s"] > 0


async def test_databases_are_restored_as_new_ones_and_dropped(
    postgres: str, tmp_path: Path
) -> None:
    key = tmp_path / "master.key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    path = f"{every_binaries()[0].folder}:{os.environ['PATH']}"
    async with (
        new_database(postgres) as log,
        new_database(postgres) as keys,
        new_database(postgres) as stages,
    ):
        settings = {
            "CS_POSTGRES": log,
            "CS_KEYS_POSTGRES": keys,
            "CS_STAGES_POSTGRES": stages,
            "CS_MASTER_KEY_FILE": str(key),
            "PATH": path,
        }
        assert ran("db", "migrate", **settings).code == 0
        place = Settings(
            postgres=log, keys_postgres=keys, stages_postgres=stages, master_key_file=key
        )
        async with searched(place) as (_, search):
            connection = await asyncpg.connect(postgres)
            for copy in LEFT:
                await connection.execute(f"DROP DATABASE IF EXISTS {copy}")
                await connection.execute(f"CREATE DATABASE {copy}")
            report = drilled(tmp_path / "within", **settings)
            kept = await connection.fetch(DRILLS)
            again = ran("backup", "drill", f"--within={tmp_path}", **settings)
            for copy in LEFT[1:]:
                await connection.execute(f"DROP DATABASE {copy}")
        without = ran("backup", "drill", **settings | {"PATH": str(tmp_path)}).error()
        await connection.close()

    assert (report["form"], report["search"]) == ("databases", search)
    assert report["violations"] == 0
    assert "pg_dump is not installed" in without
    assert [row["datname"] for row in kept] == sorted(LEFT[1:])
    assert LEFT[0] not in again.err
    for copy in LEFT[1:]:
        assert f"drop the database {copy}, a copy of another drill" in again.err


def test_a_database_that_only_the_query_names_is_refused() -> None:
    here = {"CS_POSTGRES": "postgresql://cs@127.0.0.1:1/log", "CS_KEYS_POSTGRES": BY_QUERY}

    done = ran("backup", "drill", **here, CS_MASTER_KEY_FILE="/nowhere")

    assert "keys_postgres: name the database in the path, not with ?dbname=" in done.error()


async def test_a_copy_that_is_not_as_it_should_be_fails_the_drill(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with searched(folder):
        pass
    with closing(sqlite3.connect(folder / "keys.db")) as db, db:
        db.execute("DELETE FROM data_key WHERE name LIKE '%#%'")

    done = ran("backup", "drill", "--json", f"--data-dir={folder}")

    assert done.code == 1, done
    assert "reads otherwise from the restored copy" in done.err
