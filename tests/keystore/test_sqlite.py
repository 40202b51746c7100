import asyncio
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from contracts.key_store import KeyStoreContract
from cs.keystore.port import KeysUnavailable, WrongMasterKey
from cs.keystore.sqlite import SqliteKeyStore
from cs.keystore.wrapping import master_key
from cs.runtime.private_files import DeletedDataRemains
from cs.sqlite.database import transaction

MASTER = b"m" * 32


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.db"


@pytest.fixture
async def keys(path: Path) -> AsyncIterator[SqliteKeyStore]:
    async with SqliteKeyStore(path, MASTER) as keys:
        yield keys


class TestSqliteKeyStore(KeyStoreContract):
    pass


def _bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def _wrapped(path: Path, name: str) -> bytes | None:
    with closing(sqlite3.connect(path)) as database:
        row = database.execute("SELECT wrapped FROM data_key WHERE name = ?", (name,))
        wrapped: bytes | None = row.fetchone()[0]
        return wrapped


async def test_fingerprints_of_two_stores_differ_also_under_one_master_key(
    tmp_path: Path,
) -> None:
    async with (
        SqliteKeyStore(tmp_path / "one.db", MASTER) as one,
        SqliteKeyStore(tmp_path / "two.db", MASTER) as two,
    ):
        assert one.fingerprint("email", "a") != two.fingerprint("email", "a")


async def test_two_processes_agree_on_a_secret_which_stands_in_no_file(
    tmp_path: Path, path: Path, keys: SqliteKeyStore
) -> None:
    async with SqliteKeyStore(path, MASTER) as other:
        secrets = await asyncio.gather(
            *(store.secret("a") for _ in range(5) for store in (keys, other))
        )

    assert len(set(secrets)) == 1
    async with SqliteKeyStore(path, MASTER) as again:
        assert await again.secret("a") == secrets[0]
        assert secrets[0] not in _bytes(tmp_path)
        assert await again.secret("fingerprints") not in _bytes(tmp_path)


async def test_only_the_owner_may_read_its_files(tmp_path: Path, path: Path) -> None:
    async with SqliteKeyStore(path, MASTER) as keys:
        await keys.ensure(["a"])

        modes = {f.name: f.stat().st_mode & 0o777 for f in tmp_path.iterdir()}  # noqa: ASYNC240

    assert {"keys.db", "keys.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


async def test_a_file_that_others_may_read_is_closed_to_them(path: Path) -> None:
    async with SqliteKeyStore(path, MASTER):
        pass
    path.chmod(0o644)  # noqa: ASYNC240

    async with SqliteKeyStore(path, MASTER):
        assert path.stat().st_mode & 0o777 == 0o600  # noqa: ASYNC240


async def test_no_key_stands_in_the_files_as_it_is(
    tmp_path: Path, keys: SqliteKeyStore
) -> None:
    made = await keys.ensure(["a", "b"])

    stored = _bytes(tmp_path)

    assert not any(key in stored for key in made.values())
    assert MASTER not in stored


async def test_nothing_of_a_destroyed_key_stays_in_the_files(
    tmp_path: Path, path: Path, keys: SqliteKeyStore
) -> None:
    await keys.ensure(["a", "b"])
    wrapped = _wrapped(path, "a")
    assert wrapped is not None
    assert wrapped in _bytes(tmp_path)

    await keys.destroy(["a"])

    assert wrapped not in _bytes(tmp_path)
    assert _wrapped(path, "b") is not None


async def test_while_another_process_reads_destroying_says_what_is_left(
    tmp_path: Path, path: Path
) -> None:
    async with SqliteKeyStore(path, MASTER, lock_timeout_s=0) as keys:
        await keys.ensure(["a"])
        wrapped = _wrapped(path, "a")
        assert wrapped is not None
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM data_key").fetchall()

            for _ in range(2):
                with pytest.raises(DeletedDataRemains) as remains:
                    await keys.destroy(["a"])
                assert remains.value.files == (str(path),)
                assert await keys.find(["a"]) == {}, "not from memory either"

        await keys.destroy(["a"])
        assert wrapped not in _bytes(tmp_path)


async def test_the_index_holds_fingerprints_and_names_only(
    path: Path, keys: SqliteKeyStore
) -> None:
    message = keys.fingerprint("email", "jo@acme.example")

    await keys.ensure_indexed((), [(message, "brand-a.1#p1"), (message, "brand-b.1#p4")])

    with closing(sqlite3.connect(path)) as other:
        rows = other.execute("SELECT * FROM person_index ORDER BY name").fetchall()
    assert rows == [(message, "brand-a.1#p1"), (message, "brand-b.1#p4")]


# A disk that is full.


@contextmanager
def no_more_pages(keys: SqliteKeyStore, _: Path) -> Iterator[None]:
    """Let the file have no page more: found full while it is written."""
    (pages,) = keys._file.db.execute("PRAGMA page_count").fetchone()
    keys._file.db.execute(f"PRAGMA max_page_count={pages}")
    yield
    keys._file.db.execute("PRAGMA max_page_count=100000")


@contextmanager
def no_more_bytes(_: SqliteKeyStore, path: Path) -> Iterator[None]:
    """Let no file of this process grow beyond the write-ahead log: found full on COMMIT."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = path.with_name(f"{path.name}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("full", "message"), [(no_more_pages, "is full"), (no_more_bytes, "disk I/O error")]
)
async def test_a_full_disk_is_reported_each_time_and_the_store_goes_on_when_there_is_room(
    path: Path, keys: SqliteKeyStore, full: Any, message: str
) -> None:
    made = await keys.ensure(["a"])
    await keys.ensure_indexed((), [("print", "a")])
    many = [f"n{n}" for n in range(500)]
    with full(keys, path):
        for _ in range(2):
            with pytest.raises(KeysUnavailable, match=message):
                await keys.ensure(many)
            with pytest.raises(KeysUnavailable, match=message):
                await keys.ensure_indexed((), [(f"print {name}", name) for name in many])
            with pytest.raises(KeysUnavailable, match=message):
                await keys.suppress(f"print {name}" for name in many)
        keys.forget()
        assert await keys.find(["a", *many]) == made

    assert await keys.matching(["print", "print n7"]) == {"a"}
    assert await keys.suppressed(["print n7"]) == set()
    assert set(await keys.ensure(many)) == set(many)
    await keys.suppress(["print"])
    await keys.destroy(["a"])
    async with SqliteKeyStore(path, MASTER) as again:
        assert set(await again.find(["a", *many])) == set(many)


async def test_what_goes_wrong_while_undoing_does_not_hide_what_went_wrong_first(
    keys: SqliteKeyStore,
) -> None:
    def fail() -> None:
        keys._file.db.close()  # nothing can be undone any more
        raise sqlite3.OperationalError("the first")

    with pytest.raises(sqlite3.Error, match="the first"), transaction(keys._file.db):
        fail()


# The master key.


def test_a_master_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    made = master_key(tmp_path / "master.key")

    assert len(made) == 32
    assert master_key(tmp_path / "master.key") == made
    assert (tmp_path / "master.key").stat().st_mode & 0o777 == 0o600
    assert master_key(tmp_path / "other.key") != made


def test_a_file_that_holds_no_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "master.key").write_bytes(b"short")
    (tmp_path / "master.key").chmod(0o600)

    with pytest.raises(WrongMasterKey, match="5 bytes"):
        master_key(tmp_path / "master.key")


async def test_a_key_read_before_it_was_destroyed_is_not_kept_after(path: Path) -> None:
    async with SqliteKeyStore(path, MASTER) as keys:
        await keys.ensure(["a"])
    was_read, go_on = asyncio.Event(), asyncio.Event()

    class Slow(SqliteKeyStore):
        async def _stored_keys(self, names: Sequence[str]) -> dict[str, bytes | None]:
            found = await super()._stored_keys(names)
            was_read.set()
            async with asyncio.timeout(10):
                await go_on.wait()
            return found

    async with (
        Slow(path, MASTER) as service,
        SqliteKeyStore(path, MASTER) as command,
    ):
        reading = asyncio.create_task(service.find(["a"]))
        await was_read.wait()
        await command.destroy(["a"])
        service.forget()
        go_on.set()
        await reading

        assert await service.find(["a"]) == {}
