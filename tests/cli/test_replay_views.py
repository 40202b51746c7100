"""`cs replay views` next to a service that answers: found, shown, healed, killed, refused."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from cli.command import Here, Ran, environment, ran
from harness.in_process import Service
from harness.outside import tools
from projections.stored import table_of
from system.older_keys.forms import Form, form_of

pytestmark = pytest.mark.slow  # the command next to a service, in a process of its own

#: The command, which says so when it reaches a point, and goes on when its input ends.
WAITING = """
import asyncio, itertools, os, sys
from cs.cli.app import main
from cs.projections.rebuild import ViewRebuild
from cs.projections.views import Views
owner, name, number = globals()[sys.argv[1]], sys.argv[2], int(sys.argv[3])
go_on, calls = getattr(owner, name), itertools.count(1)
async def waiting(*given):
    if next(calls) == number:
        os.write(1, b"waits\\n")
        await asyncio.to_thread(sys.stdin.read)
    return await go_on(*given)
setattr(owner, name, waiting)
main(["replay", "views"])
"""
#: A class, its method and which of its calls: the rows are made, or about to be exchanged, or
#: exchanged.
MADE, EXCHANGED = "ViewRebuild _compare 1", "Views drop_shadows 2"
POINTS = (MADE, "Views take_over 1", EXCHANGED)


class Data:
    """The data of a service whose views somebody harms by hand."""

    def __init__(self, form: Form) -> None:
        self.form = form

    async def cs(self, *words: str) -> Ran:
        return await asyncio.to_thread(ran, *words, COLUMNS="200", **self.form.environment)

    @contextmanager
    def waiting(self, point: str = MADE, *, killed: bool = False) -> Iterator[None]:
        """Replay, and wait at *point* until left; end well then, or *killed*."""
        with subprocess.Popen(
            [sys.executable, "-c", WAITING, *point.split()],
            env=environment(**self.form.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"waits\n"
            yield
            if killed:
                process.kill()
            _, message = process.communicate()
            assert process.returncode == (-9 if killed else 0), message

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
async def test_a_replay_that_was_killed_loses_nothing_and_the_next_heals(
    data: Data, point: str
) -> None:
    exchanged = point == EXCHANGED
    async with data.served() as (_, client):
        search = await searched(client)
        await data.harm(search["id"])
        with data.waiting(point, killed=True):
            pass

        assert await data.searches() == [search["id"]] * exchanged
        again = await searched(client)  # the service goes on
        assert again["charged"] is True
        healed = await data.cs("replay", "views", "--json")
        while "ended less than 4 s ago" in healed.err:
            healed = await data.cs("replay", "views", "--json")
        assert healed.rows[0]["switched"] is not exchanged
        assert len(await data.searches()) == 2
        assert len(await data.builds()) == 1
        assert (await client.get(f"/searches/{search['id']}")).status_code == 200


@pytest.mark.parametrize("data", ["files"], indirect=True)
async def test_a_service_forgets_a_wrong_row_that_it_remembers(data: Data) -> None:
    async with data.form.service(tools()) as service:
        key = await service.new_key()
        search = (await service.search(key, brand="Acme")).json()
    wrong = "replace(CAST(row AS TEXT), '\"charged\":true', '\"charged\":false')"
    await data.execute(f"UPDATE {table_of('searches')} SET row = CAST({wrong} AS BLOB)")

    async with data.form.service(tools()) as service:
        before = await service.read(key, search["id"])  # and it is in memory
        replaced = asyncio.Event()
        service.running.reading._views.on_replaced(replaced.set)
        healed = (await data.cs("replay", "views", "--json")).rows[0]
        async with asyncio.timeout(30):
            await replaced.wait()
        after = await service.read(key, search["id"])

    assert healed["differences"][0]["row_id"] == search["id"]
    assert (before["charged"], after["charged"]) == (False, True)


async def test_of_two_at_once_one_is_refused(data: Data) -> None:
    async with data.served() as (_, client):
        await searched(client)
        with data.waiting():
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


def test_a_folder_without_data_is_reported(here: Here, tmp_path: Path) -> None:
    assert "there is no data in" in here("replay", "views", f"--data-dir={tmp_path}").error()
