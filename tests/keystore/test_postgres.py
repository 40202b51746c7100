"""Data keys in PostgreSQL: erasures next to transactions that last, and rights."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from cs.keystore.port import KeyStore, KeysUnavailable
from harness.places import keys_in, stored_bytes


@pytest.fixture
async def keys(pool: Any) -> AsyncIterator[KeyStore]:
    async with keys_in(pool) as keys:
        yield keys


async def test_a_destroyed_key_is_gone_also_next_to_a_transaction_that_could_have_seen_it(
    keys: KeyStore, pool: Any, migrated: str
) -> None:
    await keys.ensure(["a", "b"])
    wrapped = await pool.fetchval("SELECT wrapped FROM data_key WHERE name = 'a'")
    older = await asyncpg.connect(migrated)
    try:
        async with older.transaction(isolation="repeatable_read"):
            await older.fetch("SELECT * FROM master")

            await keys.destroy(["a"])

            assert wrapped not in await stored_bytes(pool, "", "data_key")
    finally:
        await older.close()
    assert set(await keys.find(["a", "b"])) == {"b"}


async def test_what_an_erasure_that_was_cut_off_replaced_is_dropped_by_the_next(
    keys: KeyStore, pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"k{n}" for n in range(100)]
    await keys.ensure(names)

    async def cut_off(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr("cs.postgres.parts._drop_replaced", cut_off)
        with pytest.raises(asyncio.CancelledError):
            await keys.destroy(["k1"])
    assert len(await _parts(pool)) == 65

    await keys.destroy(["k1"])

    assert len(await _parts(pool)) == 64
    assert set(await keys.ensure([*names, "new"])) == {*names, "new"} - {"k1"}


async def test_keys_are_found_and_made_while_an_erasure_waits_for_a_long_transaction(
    keys: KeyStore, pool: Any, migrated: str
) -> None:
    """A dump reads for minutes; who destroys waits for it, and nobody waits for him."""
    names = [f"k{n}" for n in range(100)]
    made = await keys.ensure(names)
    dump = await asyncpg.connect(migrated)
    try:
        async with dump.transaction(isolation="repeatable_read"):
            await dump.fetch("SELECT * FROM data_key LIMIT 1")
            destroying = asyncio.create_task(keys.destroy(["k7"]))
            while not await pool.fetchval(ERASURE_WAITS):
                assert not destroying.done()
            async with asyncio.timeout(10):
                for n in range(5):
                    keys.forget()
                    await keys.find(names)
                    await keys.ensure([f"new{n}"])
            assert not destroying.done()
        await destroying
    finally:
        await dump.close()
    keys.forget()
    assert await keys.find(names) == {name: made[name] for name in names if name != "k7"}


ERASURE_WAITS = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def test_keys_are_found_and_made_by_others_during_many_erasures(
    keys: KeyStore, pool: Any
) -> None:
    names = [f"k{n}" for n in range(500)]
    made = await keys.ensure(names)
    gone = names[:20]
    async with keys_in(pool) as other, asyncio.TaskGroup() as tasks:
        erasing = [tasks.create_task(keys.destroy(gone[n::4])) for n in range(4)]
        new: dict[str, bytes] = {}
        while not all(task.done() for task in erasing):
            other.forget()
            assert (await other.find(names[20:])).items() == (
                {name: made[name] for name in names[20:]}.items()
            )
            new |= await other.ensure([f"new{len(new)}"])
        other.forget()
        assert await other.find([*names, *new]) == (
            {name: made[name] for name in names[20:]} | new
        )


async def _parts(pool: Any) -> list[str]:
    rows = await pool.fetch(
        "SELECT relname FROM pg_class WHERE relname ~ '^data_key_[0-9_a-f]+$'"
    )
    return [row["relname"] for row in rows]


async def test_a_store_that_is_away_says_so(keys: KeyStore, pool: Any) -> None:
    pool.terminate()

    with pytest.raises(KeysUnavailable):
        await keys.find(["new"])
    with pytest.raises(KeysUnavailable):
        await keys.suppress(["print"])


async def test_a_role_without_rights_on_the_key_store_reads_nothing(
    keys: KeyStore, pool: Any, migrated: str
) -> None:
    await keys.ensure(["a"])
    await pool.execute("CREATE ROLE stage_worker LOGIN")
    try:
        host = migrated.replace("//cs@", "//stage_worker@")
        assert host != migrated
        connection = await asyncpg.connect(host)
        try:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch("SELECT * FROM data_key")
        finally:
            await connection.close()
    finally:
        await pool.execute("DROP ROLE stage_worker")
