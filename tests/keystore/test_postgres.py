import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from contracts.key_store import KeyStoreContract
from cs.keystore.port import KeysUnavailable
from cs.keystore.postgres import PostgresKeyStore
from cs.postgres import parts
from cs.postgres.parts import LOCK_PATIENCE_MS
from cs.postgres.pool import Pool, open_pool
from cs.postgres.schema import migrate

MASTER = b"m" * 32


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with open_pool(database, role="test") as pool:
        async with pool.acquire() as connection:
            await migrate(connection, "keys")
        yield pool


@pytest.fixture
async def keys(pool: Pool) -> AsyncIterator[PostgresKeyStore]:
    async with PostgresKeyStore(pool, MASTER) as keys:
        yield keys


class TestPostgresKeyStore(KeyStoreContract):
    pass


async def test_what_is_stored_opens_nothing_without_the_master_key(
    keys: PostgresKeyStore, pool: Pool
) -> None:
    made = await keys.ensure(["a"])
    wrapped = await pool.fetchval("SELECT wrapped FROM data_key")
    proof = await pool.fetchval("SELECT proof FROM master")

    assert made["a"] not in wrapped
    assert MASTER not in proof


async def test_a_person_suppressed_next_to_many_indexings_never_keeps_a_key(
    keys: PostgresKeyStore, pool: Pool
) -> None:
    print_ = keys.fingerprint("email", "jo@acme.example")
    names = [f"brand-a.{n}#p" for n in range(40)]
    async with PostgresKeyStore(pool, MASTER) as other:

        async def index(name: str, store: PostgresKeyStore) -> None:
            entries = [(print_, name), (keys.fingerprint("x", name), name)]
            await store.ensure_indexed([name], entries)

        async def erase() -> None:
            await other.suppress([print_])
            await other.destroy(await other.matching([print_]))

        halves = [(name, keys if n % 2 else other) for n, name in enumerate(names)]
        await asyncio.gather(*(index(*each) for each in halves), erase())

    keys.forget()
    assert await keys.find(names) == {}


async def test_a_destroyed_key_is_in_no_page_of_the_table(
    keys: PostgresKeyStore, pool: Pool
) -> None:
    names = [f"k{n}" for n in range(3_000)]
    await keys.ensure(names)
    gone = ["k8", *(f"k{n}" for n in range(10, 3_000))]
    wrapped = await pool.fetch("SELECT wrapped FROM data_key WHERE name = ANY($1)", gone)
    kept = await pool.fetchval("SELECT wrapped FROM data_key WHERE name = 'k9'")

    await keys.destroy(gone[1:])
    await keys.ensure_indexed((), [(keys.fingerprint("email", "jo@acme.example"), "k8")])
    await keys.suppress([keys.fingerprint("email", "jo@acme.example")])
    await keys.ensure_indexed((), [(keys.fingerprint("email", "jo@acme.example"), "k8")])

    pages = await _pages(pool)
    assert kept in pages, "what is not destroyed is found like this"
    assert not any(row["wrapped"] in pages for row in wrapped)
    assert len(await keys.find(names)) == 3_000 - len(gone)


async def test_a_destroyed_key_is_gone_also_next_to_a_transaction_that_could_have_seen_it(
    keys: PostgresKeyStore, pool: Pool, database: str
) -> None:
    await keys.ensure(["a", "b"])
    wrapped = await pool.fetchval("SELECT wrapped FROM data_key WHERE name = 'a'")
    older = await asyncpg.connect(database)
    try:
        async with older.transaction(isolation="repeatable_read"):
            await older.fetch("SELECT * FROM master")

            await keys.destroy(["a"])

            assert wrapped not in await _pages(pool)
    finally:
        await older.close()
    assert set(await keys.find(["a", "b"])) == {"b"}


async def test_what_an_erasure_that_was_cut_off_replaced_is_dropped_by_the_next(
    keys: PostgresKeyStore, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"k{n}" for n in range(100)]
    await keys.ensure(names)

    async def cut_off(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(parts, "_drop_replaced", cut_off)
        with pytest.raises(asyncio.CancelledError):
            await keys.destroy(["k1"])
    assert len(await _parts(pool)) == 65

    await keys.destroy(["k1"])

    assert len(await _parts(pool)) == 64
    assert set(await keys.ensure([*names, "new"])) == {*names, "new"} - {"k1"}


async def test_keys_are_found_and_made_while_an_erasure_waits_for_a_long_transaction(
    keys: PostgresKeyStore, pool: Pool, database: str
) -> None:
    """A dump reads for minutes; who destroys waits for it, and nobody waits for him."""
    names = [f"k{n}" for n in range(100)]
    made = await keys.ensure(names)
    dump = await asyncpg.connect(database)
    try:
        async with dump.transaction(isolation="repeatable_read"):
            await dump.fetch("SELECT * FROM data_key LIMIT 1")
            destroying = asyncio.create_task(keys.destroy(["k7"]))
            while not await pool.fetchval(_WAITS):
                assert not destroying.done()
            async with asyncio.timeout(LOCK_PATIENCE_MS / 1000 * 20):
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


_WAITS = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def test_keys_are_found_and_made_by_others_during_many_erasures(
    keys: PostgresKeyStore, pool: Pool
) -> None:
    names = [f"k{n}" for n in range(500)]
    made = await keys.ensure(names)
    gone = names[:20]
    async with PostgresKeyStore(pool, MASTER) as other, asyncio.TaskGroup() as tasks:
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


async def _parts(pool: Pool) -> list[str]:
    rows = await pool.fetch(
        "SELECT relname FROM pg_class WHERE relname ~ '^data_key_[0-9_a-f]+$'"
    )
    return [row["relname"] for row in rows]


async def _pages(pool: Pool) -> bytes:
    """Return all bytes of the table, free space included, as they are on the disk."""
    await pool.execute("CHECKPOINT")
    parts = await pool.fetch(
        "SELECT pg_relation_filepath(inhrelid) AS file FROM pg_inherits "
        "WHERE inhparent = 'data_key'::regclass"
    )
    read = [await pool.fetchval("SELECT pg_read_binary_file($1)", row["file"]) for row in parts]
    return b"".join(read)


async def test_a_store_that_is_away_says_so(keys: PostgresKeyStore, pool: Pool) -> None:
    pool.terminate()

    with pytest.raises(KeysUnavailable):
        await keys.find(["new"])
    with pytest.raises(KeysUnavailable):
        await keys.suppress(["print"])


async def test_a_role_without_rights_on_the_key_store_reads_nothing(
    keys: PostgresKeyStore, pool: Pool, database: str
) -> None:
    await keys.ensure(["a"])
    await pool.execute("CREATE ROLE stage_worker LOGIN")
    try:
        host = database.replace("//cs@", "//stage_worker@")
        assert host != database
        connection = await asyncpg.connect(host)
        try:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch("SELECT * FROM data_key")
        finally:
            await connection.close()
    finally:
        await pool.execute("DROP ROLE stage_worker")
