import asyncio

import pytest
from msgspec.structs import replace

from contracts.people_directory import (
    ADA,
    BEN,
    CAM,
    KEY,
    PeopleDirectoryContract,
    index,
    of,
    put,
    row,
)
from cs.directory.postgres import PostgresDirectory
from cs.directory.store import Changes, DirectoryUnavailable, WrongDirectoryKey
from cs.postgres import parts
from cs.postgres.pool import Pool, open_pool
from postgres.stages_tables import pool

__all__ = ["pool"]

pytestmark = pytest.mark.slow


@pytest.fixture
def directory(pool: Pool) -> PostgresDirectory:
    return PostgresDirectory(pool, KEY)


class TestPostgresDirectory(PeopleDirectoryContract):
    pass


async def test_nobody_is_in_the_table_in_clear_and_no_byte_of_who_is_erased(
    directory: PostgresDirectory, pool: Pool
) -> None:
    await put(directory, ADA, BEN)
    stored = await _pages(pool)
    box = await pool.fetchval("SELECT box FROM directory_person ORDER BY as_of LIMIT 1")
    assert box in stored
    for text in ("Ada", "ada-kern", "ada.kern", "Acme", "Influencer"):
        assert text.encode() not in stored

    assert await PostgresDirectory(pool).erase([of(ADA)]) == 1, "without the key"

    left = await _pages(pool)
    for gone in (box, bytes.fromhex(of(ADA))):
        assert gone not in left
    assert await directory.get(BEN.known_as) == BEN


async def test_an_erasure_that_was_cut_off_is_finished_by_the_next(
    directory: PostgresDirectory, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await put(directory, ADA, BEN)

    async def cut_off(*_: object) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(parts, "_drop_replaced", cut_off)
        with pytest.raises(asyncio.CancelledError):
            await directory.erase([of(ADA)])
    assert await _tables(pool) == 17

    assert await directory.erase([of(ADA)]) == 0

    assert await _tables(pool) == 16


async def test_two_imports_at_once_are_one_after_the_other(
    directory: PostgresDirectory, pool: Pool
) -> None:
    other = PostgresDirectory(pool, KEY)
    title = frozenset({"full_name", "profile", "title"})
    company = frozenset({"full_name", "profile", "company"})

    done = await asyncio.gather(
        directory.put([row(replace(ADA, company=None), title)], index),
        other.put([row(replace(ADA, title=None), company)], index),
    )

    assert sorted(each.new for each in done) == [0, 1]
    found = await directory.get(ADA.known_as)
    assert found is not None
    assert (found.title, found.company) == (ADA.title, ADA.company)


async def test_another_key_opens_nothing_until_it_is_emptied(
    directory: PostgresDirectory, pool: Pool
) -> None:
    await put(directory, ADA)
    other = PostgresDirectory(pool, b"x" * 32)

    with pytest.raises(WrongDirectoryKey, match="directory clear"):
        await put(other, BEN)
    with pytest.raises(WrongDirectoryKey):
        await other.people_at(["name:Acme"], limit=5)
    assert await other.clear() == 1
    assert await put(other, CAM) == Changes(new=1)


async def test_a_database_that_is_away_is_reported_as_such() -> None:
    async with open_pool("postgresql://nobody@127.0.0.1:1/none", role="test") as pool:
        with pytest.raises(DirectoryUnavailable, match="directory of people"):
            await PostgresDirectory(pool, KEY).look()


async def _tables(pool: Pool) -> int:
    query = (
        r"SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname ~ '^directory_person_'"
    )
    return int(await pool.fetchval(query))


async def _pages(pool: Pool) -> bytes:
    """Return what is in the pages of the table and its indexes, whatever is visible."""
    await pool.execute("CHECKPOINT")
    rows = await pool.fetch(
        "SELECT pg_read_binary_file(pg_relation_filepath(oid)) AS file FROM pg_class "
        "WHERE relname ~ '^directory_person' AND relkind IN ('r', 'i')"
    )
    return b"".join(row["file"] for row in rows)
