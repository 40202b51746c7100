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


async def test_names_are_found_by_any_of_their_fingerprints(keys: KeyStore) -> None:
    await keys.index([("f1", "a"), ("f2", "a"), ("f2", "b"), ("f3", "c")])

    assert await keys.matching(["f1"]) == {"a"}
    assert await keys.matching(["f1", "f2", "f9"]) == {"a", "b"}
    assert await keys.matching([]) == frozenset()


async def test_a_destroyed_name_is_found_still(keys: KeyStore) -> None:
    await keys.index([("f1", "a")])
    await keys.destroy(["a"])

    assert await keys.matching(["f1"]) == {"a"}


async def test_a_suppressed_fingerprint_is_told_and_others_are_not(keys: KeyStore) -> None:
    await keys.suppress(["f1", "f2"])
    await keys.suppress(["f2"])

    assert await keys.suppressed(["f1", "f3"]) == {"f1"}
    assert await keys.suppressed([]) == frozenset()


async def test_a_name_indexed_under_a_suppressed_fingerprint_never_has_a_key(
    keys: KeyStore,
) -> None:
    await keys.suppress(["f1"])

    await keys.index([("f1", "a"), ("f2", "b")])

    assert set(await keys.ensure(["a", "b"])) == {"b"}


async def test_a_name_that_had_a_key_loses_it_by_a_suppressed_fingerprint(
    keys: KeyStore,
) -> None:
    await keys.ensure(["a", "b"])
    await keys.suppress(["f1"])

    await keys.index([("f1", "a"), ("f2", "b")])

    assert set(await keys.find(["a", "b"])) == {"b"}


async def test_many_fingerprints_at_once(keys: KeyStore) -> None:
    await keys.index([(f"f{n}", f"n{n}") for n in range(1_200)])
    await keys.suppress([f"f{n}" for n in range(1_200)])

    assert len(await keys.matching([f"f{n}" for n in range(1_200)])) == 1_200
    assert len(await keys.suppressed([f"f{n}" for n in range(1_300)])) == 1_200


# Two processes on one file.


async def test_what_another_process_suppresses_holds_here_at_once(tmp_path: Path) -> None:
    async with (
        SqliteKeyStore(tmp_path / "keys.db", MASTER) as service,
        SqliteKeyStore(tmp_path / "keys.db", MASTER) as command,
    ):
        await command.suppress(["f1"])

        assert await service.suppressed(["f1"]) == {"f1"}
        await service.index([("f1", "a")])
        assert await service.ensure(["a"]) == {}


async def test_a_key_that_another_process_destroyed_is_forgotten_when_told(
    tmp_path: Path,
) -> None:
    async with (
        SqliteKeyStore(tmp_path / "keys.db", MASTER) as service,
        SqliteKeyStore(tmp_path / "keys.db", MASTER) as command,
    ):
        await service.ensure(["a", "b"])
        await command.destroy(["a"])
        assert set(await service.find(["a"])) == {"a"}, "it is kept open in memory"

        service.forget()

        assert set(await service.find(["a", "b"])) == {"b"}


async def test_suppression_is_there_after_a_restart(tmp_path: Path) -> None:
    async with SqliteKeyStore(tmp_path / "keys.db", MASTER) as keys:
        await keys.suppress(["f1"])

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
