"""`cs replay views` next to a service that answers: found, shown, healed, killed, refused."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from cli.command import Here, Ran, environment, ran
from cli.stopped_replay import POINTS
from harness.in_process import Service
from harness.outside import tools
from harness.served import Served
from projections.stored import table_of
from system.older_keys.forms import Form, form_of

pytestmark = pytest.mark.slow  # the command next to a service, in a process of its own

TESTS = Path(__file__).parents[1]
#: Within which a service has noticed that its rows were replaced.
NOTICED_S = 30.0


class Data:
    """The data of a service whose views somebody harms by hand."""

    def __init__(self, form: Form) -> None:
        self.form = form

    async def cs(self, *words: str) -> Ran:
        return await asyncio.to_thread(ran, *words, COLUMNS="200", **self.form.environment)

    async def stopped(self, point: str) -> int:
        """Replay, killed at *point*; return the exit code."""
        script = [sys.executable, str(TESTS / "cli" / "stopped_replay.py"), point, "kill"]
        ended = await asyncio.to_thread(
            subprocess.run,
            [*script, "replay", "views"],
            env=environment(**self.form.environment, PYTHONPATH=str(TESTS)),
            check=False,
            capture_output=True,
        )
        return ended.returncode

    @contextmanager
    def waiting(self, point: str) -> Iterator[None]:
        """Replay, and wait at *point* until left."""
        script = [sys.executable, str(TESTS / "cli" / "stopped_replay.py"), point, "wait"]
        with subprocess.Popen(
            [*script, "replay", "views"],
            env=environment(**self.form.environment, PYTHONPATH=str(TESTS)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"waits\n"
            yield
            _, message = process.communicate()
            assert process.returncode == 0, message

    async def execute(self, statement: str) -> list[Any]:
        dsn = self.form.settings.postgres
        if dsn is None:
            file = self.form.settings.data_dir / "views.db"
            with closing(sqlite3.connect(file, isolation_level=None)) as database:
                return database.execute(statement).fetchall()
        connection = await asyncpg.connect(dsn)
        try:
            found: list[Any] = await connection.fetch(statement)
            return found
        finally:
            await connection.close()

    async def harm(self, search: str) -> None:
        """Let the running views know nothing of *search*."""
        await self.execute(f"DELETE FROM {table_of('searches')} WHERE id = '{search}'")

    async def searches(self) -> list[str]:
        """Return the searches that the serving build knows."""
        ((number,),) = await self.execute("SELECT build FROM view_builds WHERE serving")
        found = await self.execute(f"SELECT id FROM {table_of('searches', number)}")
        return [row[0] for row in found]

    async def builds(self) -> list[int]:
        """Return the numbers of the builds there are."""
        return [row[0] for row in await self.execute("SELECT build FROM view_builds")]

    @asynccontextmanager
    async def served(self) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
        async with self.form.service(tools()) as service:
            key = await service.new_key()
            async with service.client(key) as client:
                yield service, client


@pytest.fixture(params=["files", "databases"])
async def data(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Data]:
    async with form_of(request, tmp_path) as form:
        yield Data(form)


async def searched(client: httpx.AsyncClient) -> dict[str, Any]:
    answer = await client.post("/contacts", json={"brand": "Acme", "wait": True})
    assert answer.status_code == 200, answer.text
    record: dict[str, Any] = answer.json()
    return record


async def test_a_missing_search_is_found_shown_and_healed(data: Data) -> None:
    async with data.served() as (_, client):
        search = await searched(client)
        await data.harm(search["id"])

        shown = await data.cs("replay", "views", "--dry-run")
        before = await data.searches()
        healed = (await data.cs("replay", "views", "--json")).rows[0]
        again = await searched(client)

        assert "The running views were left as they are (--dry-run)." in shown.out
        assert search["id"] in shown.out
        assert before == []
        assert (healed["switched"], healed["different"]) == (True, {"searches": 1})
        found = await client.get(f"/searches/{search['id']}")
        assert found.json() == {**search, "usage": again["usage"]}
    unchanged = await data.cs("replay", "views")
    assert "nothing had to be changed" in unchanged.out
    assert len(await data.builds()) == 1


@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_at_any_moment_loses_nothing(data: Data, point: str) -> None:
    async with data.served() as (_, client):
        search = await searched(client)
        await data.harm(search["id"])
        assert await data.stopped(point) == -9

        has_changed = POINTS[point][1]
        assert await data.searches() == [search["id"]] * has_changed
        again = await searched(client)  # the service goes on
        assert again["charged"] is True
        healed = await data.cs("replay", "views", "--json")
        while "ended less than 4 s ago" in healed.err:
            healed = await data.cs("replay", "views", "--json")
        assert healed.rows[0]["switched"] is not has_changed
        assert len(await data.searches()) == 2
        assert len(await data.builds()) == 1
        assert (await client.get(f"/searches/{search['id']}")).status_code == 200


async def test_of_two_at_once_one_is_refused(data: Data) -> None:
    async with data.served() as (_, client):
        await searched(client)
        with data.waiting("made"):
            second = await data.cs("replay", "views")
            assert "another `cs replay views` works on" in second.error()
            assert (await searched(client))["cached"] is True
    assert "nothing had to be changed" in (await data.cs("replay", "views")).out


async def test_views_that_are_not_made_yet_are_reported(data: Data) -> None:
    async with data.served() as (_, client):
        await searched(client)
    await data.form.forget_views()

    message = (await data.cs("replay", "views")).error()

    assert message.startswith("this version's views are not made yet: start the service")


def test_a_running_process_answers_throughout_and_forgets_wrong_rows(tmp_path: Path) -> None:
    with Served(tmp_path / "data") as service:
        key = service.new_key()
        with service.client(key) as client:
            search = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        service.stop()
        with closing(sqlite3.connect(tmp_path / "data" / "views.db")) as database, database:
            row = "replace(CAST(row AS TEXT), '\"charged\":true', '\"charged\":false')"
            database.execute(f"UPDATE {table_of('searches')} SET row = CAST({row} AS BLOB)")
        service.start()
        path = f"/searches/{search['id']}"
        with service.client(key) as client, answering(service, key, path) as answers:
            assert client.get(path).json()["charged"] is False  # and it is in memory

            healed = ran("replay", "views", "--json", CS_DATA_DIR=str(service.folder))

            assert healed.rows[0]["differences"][0]["row_id"] == search["id"]
            noticed = threading.Event()
            until = time.monotonic() + NOTICED_S
            while client.get(path).json() != search:
                assert not noticed.wait(1), "a call a second: there is a limit"
                assert time.monotonic() < until
        assert set(answers) == {200}
        assert answers


@contextmanager
def answering(service: Served, key: dict[str, Any], path: str) -> Iterator[list[int]]:
    """Ask for *path* again and again until left; give how each was answered."""
    answers: list[int] = []
    ended = threading.Event()

    def ask() -> None:
        with service.client(key) as client:
            while not ended.wait(1):  # of the 120 a minute some are left for others
                answers.append(client.get(path).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield answers
    finally:
        ended.set()
        asking.join()


def test_a_folder_without_data_is_reported(here: Here, tmp_path: Path) -> None:
    assert "there is no data in" in here("replay", "views", f"--data-dir={tmp_path}").error()
