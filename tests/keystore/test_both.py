"""What the stores in SQLite and in PostgreSQL do next to other processes."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, closing
from functools import partial
from pathlib import Path

import pytest

from cs.keystore.port import WrongMasterKey
from cs.keystore.postgres import PostgresKeyStore
from cs.keystore.sqlite import SqliteKeyStore
from cs.keystore.store import StoredKeys
from postgres.migrated import migrated

MASTER = b"m" * 32

Open = Callable[[bytes], AbstractAsyncContextManager[StoredKeys]]


class Stored:
    """A store that `opened` opens with a master key, and statements on its database."""

    def __init__(self, opened: Open, execute: Callable[[str], Awaitable[object]]) -> None:
        self.opened = opened
        self.execute = execute


@pytest.fixture(params=["sqlite", "postgres"])
async def stored(
    request: pytest.FixtureRequest, tmp_path: Path, database: str
) -> AsyncIterator[Stored]:
    if request.param == "sqlite":
        path = tmp_path / "keys.db"

        async def execute(statement: str) -> None:
            with closing(sqlite3.connect(path)) as file, file:
                file.execute(statement)

        yield Stored(partial(SqliteKeyStore, path), execute)
        return
    async with migrated(database, "keys") as pool:
        yield Stored(partial(PostgresKeyStore, pool), pool.execute)


@pytest.fixture
async def keys(stored: Stored) -> AsyncIterator[StoredKeys]:
    async with stored.opened(MASTER) as keys:
        yield keys


@pytest.fixture
async def other(stored: Stored) -> AsyncIterator[StoredKeys]:
    async with stored.opened(MASTER) as other:
        yield other


async def test_another_master_key_is_refused(stored: Stored, keys: StoredKeys) -> None:
    await keys.ensure(["a"])

    with pytest.raises(WrongMasterKey, match="another master key"):
        async with stored.opened(b"n" * 32):
            pass


async def test_keys_and_fingerprints_are_the_same_after_a_restart(stored: Stored) -> None:
    async with stored.opened(MASTER) as keys:
        made = await keys.ensure(["a", "b"])
        await keys.destroy(["b"])
        print_ = keys.fingerprint("email", "jo@acme.example")

    async with stored.opened(MASTER) as keys:
        assert await keys.ensure(["a", "b"]) == {"a": made["a"]}
        assert keys.fingerprint("email", "jo@acme.example") == print_


async def test_two_processes_make_one_key(keys: StoredKeys, other: StoredKeys) -> None:
    answers = await asyncio.gather(
        *(store.ensure([f"k{n}", f"k{9 - n}"]) for n in range(10) for store in (keys, other))
    )

    made: dict[str, set[bytes]] = {}
    for answer in answers:
        for name, key in answer.items():
            made.setdefault(name, set()).add(key)
    assert {name: len(found) for name, found in made.items()} == {f"k{n}": 1 for n in range(10)}


async def test_processes_that_open_a_new_store_at_once_make_the_same_fingerprints(
    stored: Stored,
) -> None:
    async def opened() -> str:
        async with stored.opened(MASTER) as keys:
            return keys.fingerprint("email", "a")

    assert len(set(await asyncio.gather(*(opened() for _ in range(5))))) == 1


async def test_what_another_process_does_holds_once_memory_is_forgotten(
    keys: StoredKeys, other: StoredKeys
) -> None:
    await keys.ensure(["a", "b"])
    await other.suppress(["f1"])
    await other.destroy(["a"])
    assert set(await keys.find(["a"])) == {"a"}, "it is kept open in memory"

    keys.forget()

    assert set(await keys.find(["a", "b"])) == {"b"}
    await keys.ensure_indexed((), [("f1", "c")])
    assert await keys.ensure(["a", "c"]) == {}
    assert await keys.suppressed(["f1"]) == {"f1"}


async def test_a_key_kept_in_memory_is_no_key_once_the_store_has_forgotten_it(
    stored: Stored, keys: StoredKeys
) -> None:
    before = await keys.ensure(["a", "b"])
    await stored.execute("DELETE FROM data_key WHERE name = 'a'")

    after = await keys.ensure(["a", "b"])

    assert after["b"] == before["b"]
    assert after["a"] != before["a"]
    assert keys.lost.keys == {"another": 1}
    assert await keys.find(["a"]) == {"a": after["a"]}


async def test_a_key_moved_to_another_name_does_not_open(
    stored: Stored, keys: StoredKeys
) -> None:
    await keys.ensure(["a", "b"])
    await stored.execute(
        "UPDATE data_key SET wrapped = (SELECT wrapped FROM data_key WHERE name = 'a') "
        "WHERE name = 'b'"
    )

    async with stored.opened(MASTER) as fresh:
        with pytest.raises(WrongMasterKey, match="'b'"):
            await fresh.find(["b"])
        assert set(await fresh.find(["a"])) == {"a"}
