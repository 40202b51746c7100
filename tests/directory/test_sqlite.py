import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given

from contracts.people_directory import (
    ADA,
    BATCHES,
    BEN,
    KEY,
    PeopleDirectoryContract,
    check_against_a_dict,
    index,
    of,
    put,
)
from cs.directory.person import DirectoryPerson
from cs.directory.sqlite import SqliteDirectory
from cs.directory.store import DirectoryUnavailable, WrongDirectoryKey
from cs.runtime.private_files import DeletedDataRemains


def key() -> bytes:
    return KEY


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "directory.db"


@pytest.fixture
async def directory(file: Path) -> AsyncIterator[SqliteDirectory]:
    async with SqliteDirectory(file, key) as directory:
        yield directory


class TestSqliteDirectory(PeopleDirectoryContract):
    pass


@given(BATCHES)
async def test_rows_come_to_a_dict_by_profile(
    batches: list[list[tuple[DirectoryPerson, frozenset[str]]]],
) -> None:
    with TemporaryDirectory() as folder:
        async with SqliteDirectory(Path(folder) / "directory.db", key) as directory:
            await check_against_a_dict(directory, batches)


async def test_nobody_is_in_the_files_in_clear_and_no_byte_of_who_is_erased(
    directory: SqliteDirectory, file: Path
) -> None:
    await put(directory, ADA, BEN)
    with sqlite3.connect(file) as db:
        query = "SELECT who, box FROM person ORDER BY as_of"
        ((who, box), _) = db.execute(query).fetchall()
    stored = _bytes(file)
    assert box in stored
    for text in ("Ada", "ada-kern", "ada.kern", "Acme", "acme", "Influencer"):
        assert text.encode() not in stored

    await directory.erase([of(ADA)])

    left = _bytes(file)
    for gone in (who, box, bytes.fromhex(of(ADA))):
        assert gone not in left
    assert stat.S_IMODE(file.stat().st_mode) == 0o600  # noqa: ASYNC240


async def test_while_another_process_reads_forgetting_says_what_is_left(file: Path) -> None:
    async with SqliteDirectory(file, key, lock_timeout_s=0) as directory:
        await put(directory, ADA, BEN)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            ((box,), _) = reader.execute("SELECT box FROM person ORDER BY as_of").fetchall()

            forgetting: tuple[Callable[[], Awaitable[object]], ...] = (
                lambda: directory.erase([of(ADA)]),
                lambda: directory.erase([of(ADA)]),  # nobody is left to forget
                lambda: directory.remove(BEN.known_as),
                lambda: directory.forget_before(date(2000, 1, 1)),
                directory.clear,
            )
            for forget in forgetting:
                with pytest.raises(DeletedDataRemains) as remains:
                    await forget()
                assert remains.value.files == (str(file),)
                assert not await directory.look() or await directory.get(ADA.known_as) is None

        assert await directory.erase([of(ADA)]) == 0
        assert box not in _bytes(file)


async def test_who_reads_sees_what_another_process_imports(
    directory: SqliteDirectory, file: Path
) -> None:
    assert not await directory.look()
    async with SqliteDirectory(file, key) as other:
        await put(other, ADA)
        assert await directory.people_at(index(ADA).places, limit=5) == [ADA]
        await put(other, BEN)
    assert await directory.people_at(index(ADA).places, limit=5) == [BEN, ADA]


async def test_another_key_opens_nothing_until_it_is_emptied(file: Path) -> None:
    async with SqliteDirectory(file, key) as directory:
        await put(directory, ADA)
    async with SqliteDirectory(file, lambda: b"x" * 32) as directory:
        for refused in (put(directory, BEN), directory.get(ADA.known_as)):
            with pytest.raises(WrongDirectoryKey, match="directory clear"):
                await refused
        with pytest.raises(WrongDirectoryKey):
            await directory.people_at(index(ADA).places, limit=5)
        assert (await directory.status()).people == 1
        assert await directory.clear() == 1
        await put(directory, BEN)
        assert await directory.get(BEN.known_as) == BEN


async def test_a_damaged_person_is_reported_as_such(
    directory: SqliteDirectory, file: Path
) -> None:
    await put(directory, ADA)
    with sqlite3.connect(file) as db:
        db.execute("UPDATE person SET box = ?", (b"x" * 40,))

    with pytest.raises(DirectoryUnavailable, match="damaged"):
        await directory.get(ADA.known_as)


async def test_a_file_that_is_none_is_unavailable(
    directory: SqliteDirectory, file: Path
) -> None:
    file.write_bytes(b"no database" * 100)  # noqa: ASYNC240

    with pytest.raises(DirectoryUnavailable, match="not a database"):
        await directory.look()


async def test_without_anybody_no_file_is_made(directory: SqliteDirectory, file: Path) -> None:
    await directory.put([], index, dry_run=True)
    await directory.status()

    assert not file.exists()  # noqa: ASYNC240


def _bytes(file: Path) -> bytes:
    return b"".join(each.read_bytes() for each in file.parent.glob(f"{file.name}*"))
