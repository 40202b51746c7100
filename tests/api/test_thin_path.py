"""What a warm call asks of the database stays as little as it is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.counted import Counted, on_postgres, on_sqlite


@pytest.fixture
async def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Counted]:
    async with on_sqlite(tmp_path, monkeypatch) as counted:
        yield counted


@pytest.fixture
async def shared(database: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Counted]:
    async with on_postgres(database, monkeypatch) as counted:
        yield counted


async def asked_by_get(counted: Counted, path: str | None = None) -> list[str]:
    key = await counted.new_key()
    search = await counted.search(key)
    assert (search["status"], search["cached"]) == ("done", True)
    where = path or f"/searches/{search['id']}"
    assert (await counted.get(key, where)).status_code == 200
    return await counted.statements.of(lambda: counted.get(key, where))


def about(statements: list[str], *tables: str) -> list[str]:
    """Return which of *tables* each statement is about.

    Whether the views were made anew is asked once a second, whoever calls: that is left out.
    """
    of_calls = [each for each in statements if "view_editions" not in each]
    return [next(name for name in tables if name in each) for each in of_calls]


async def test_an_ended_search_is_one_row_of_the_views_and_the_key(sqlite: Counted) -> None:
    asked = await asked_by_get(sqlite)

    assert about(asked, "stored_events", "results") == ["stored_events", "results"]


async def test_usage_is_the_key_and_nothing_of_the_views(sqlite: Counted) -> None:
    assert about(await asked_by_get(sqlite, "/usage"), "stored_events") == ["stored_events"]


async def test_for_all_nodes_an_ended_search_is_a_check_the_key_and_one_row(
    shared: Counted,
) -> None:
    asked = await asked_by_get(shared)

    tables = ("INTO checks", "stored_events", "results")
    assert about(asked, *tables) == list(tables)


async def test_for_all_nodes_usage_is_a_check_and_the_key(shared: Counted) -> None:
    asked = await asked_by_get(shared, "/usage")

    assert about(asked, "INTO checks", "stored_events") == ["INTO checks", "stored_events"]


async def test_what_was_read_before_is_not_what_is_left_now(sqlite: Counted) -> None:
    key = await sqlite.new_key()
    first = await sqlite.search(key)
    path = f"/searches/{first['id']}"
    told = [(await sqlite.get(key, path)).json()["usage"]["used"]]
    await sqlite.search(key)
    told.append((await sqlite.get(key, path)).json()["usage"]["used"])
    await sqlite.operator.grant_quota(key.id, 50)
    usage = (await sqlite.get(key, path)).json()["usage"]

    assert told == [1, 2]
    assert usage == {"quota": 150, "used": 2, "remaining": 148}
    assert (await sqlite.get(key, "/usage")).json() == usage


async def test_a_search_of_another_key_is_not_told_though_it_is_in_memory(
    sqlite: Counted,
) -> None:
    one, two = await sqlite.new_key(), await sqlite.new_key()
    search = (await sqlite.search(one))["id"]
    headers = {"Authorization": f"Bearer {two.key}"}

    asked = await sqlite.client.get(f"/searches/{search}", headers=headers)
    never = await sqlite.client.get("/searches/srch_never", headers=headers)

    assert asked.status_code == 404
    assert asked.content == never.content
