"""What every key store does about people who are suppressed."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from cs.keystore.memory import MemoryKeyStore
from cs.keystore.port import KeyStore
from cs.keystore.sqlite.store import SqliteKeyStore

MASTER = b"m" * 32


@pytest.fixture(params=["memory", "sqlite"])
async def keys(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[KeyStore]:
    if request.param == "memory":
        yield MemoryKeyStore()
    else:
        async with SqliteKeyStore(tmp_path / "keys.db", MASTER) as store:
            yield store


async def test_a_suppressed_fingerprint_refuses_every_name_under_it(keys: KeyStore) -> None:
    await keys.index([("f1", "old"), ("f2", "old"), ("f2", "b"), ("f3", "c")])
    await keys.ensure(["old", "b", "c", "new"])
    assert await keys.matching(["f1", "f9"]) == {"old"}
    assert await keys.matching(["f1", "f2"]) == {"old", "b"}

    await keys.suppress(["f1", "f4"])
    await keys.destroy(["old"])
    await keys.index([("f4", "new"), ("f4", "never")])

    assert await keys.suppressed(["f1", "f3", "f4"]) == {"f1", "f4"}
    assert await keys.matching(["f1"]) == {"old"}, "destroyed ones are found"
    assert set(await keys.ensure(["old", "new", "never", "b", "c"])) == {"b", "c"}
    assert set(await keys.find(["new", "b", "c"])) == {"b", "c"}


async def test_many_fingerprints_at_once(keys: KeyStore) -> None:
    await keys.index([(f"f{n}", f"n{n}") for n in range(1_200)])
    await keys.suppress([f"f{n}" for n in range(1_200)])

    assert len(await keys.matching([f"f{n}" for n in range(1_200)])) == 1_200
    assert len(await keys.suppressed([f"f{n}" for n in range(1_300)])) == 1_200


async def test_what_another_process_does_holds_here_and_after_a_restart(tmp_path: Path) -> None:
    async with (
        SqliteKeyStore(tmp_path / "keys.db", MASTER) as service,
        SqliteKeyStore(tmp_path / "keys.db", MASTER) as command,
    ):
        await service.ensure(["a", "b"])
        await command.suppress(["f1"])
        await command.destroy(["a"])
        assert set(await service.find(["a"])) == {"a"}, "it is kept open in memory"

        service.forget()

        assert set(await service.find(["a", "b"])) == {"b"}
        await service.index([("f1", "c")])
        assert await service.ensure(["c"]) == {}
    async with SqliteKeyStore(tmp_path / "keys.db", MASTER) as keys:
        assert await keys.suppressed(["f1"]) == {"f1"}


async def test_a_key_read_before_it_was_destroyed_is_not_kept_after(tmp_path: Path) -> None:
    async with SqliteKeyStore(tmp_path / "keys.db", MASTER) as keys:
        await keys.ensure(["a"])
    was_read, go_on = asyncio.Event(), asyncio.Event()

    class Slow(SqliteKeyStore):
        async def _stored_keys(self, names: Sequence[str]) -> Mapping[str, bytes | None]:
            found = await super()._stored_keys(names)
            was_read.set()
            async with asyncio.timeout(10):
                await go_on.wait()
            return found

    async with (
        Slow(tmp_path / "keys.db", MASTER) as service,
        SqliteKeyStore(tmp_path / "keys.db", MASTER) as command,
    ):
        reading = asyncio.create_task(service.find(["a"]))
        await was_read.wait()
        await command.destroy(["a"])
        service.forget()
        go_on.set()
        await reading

        assert await service.find(["a"]) == {}
