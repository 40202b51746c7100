"""Data keys in a file: who may read it, readers next to it, a full disk, the master key."""

import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.command import ran
from cs.keystore.port import KeysUnavailable
from harness.places import keys_in
from harness.served import served


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.db"


@pytest.fixture
async def keys(path: Path) -> AsyncIterator[Any]:
    async with keys_in(path.parent) as keys:
        yield keys


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
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with (
        keys_in(tmp_path / "one") as one,
        keys_in(tmp_path / "two") as two,
    ):
        assert one.fingerprint("email", "a") != two.fingerprint("email", "a")


async def test_only_the_owner_may_read_its_files(tmp_path: Path, path: Path) -> None:
    async with keys_in(path.parent) as keys:
        await keys.ensure(["a"])

        modes = {f.name: f.stat().st_mode & 0o777 for f in tmp_path.iterdir()}  # noqa: ASYNC240

    assert {"keys.db", "keys.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}


async def test_a_file_that_others_may_read_is_closed_to_them(path: Path) -> None:
    async with keys_in(path.parent):
        pass
    path.chmod(0o644)  # noqa: ASYNC240

    async with keys_in(path.parent):
        assert path.stat().st_mode & 0o777 == 0o600  # noqa: ASYNC240


async def test_destroying_reports_what_is_left_while_another_process_reads(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.sqlite.database.READERS_S", 0)
    async with keys_in(path.parent, lock_timeout_s=0) as keys:
        await keys.ensure(["a"])
        wrapped = _wrapped(path, "a")
        assert wrapped is not None
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM data_key").fetchall()

            for _ in range(2):
                with pytest.raises(Exception, match="can still be read") as remains:
                    await keys.destroy(["a"])
                assert str(path) in str(remains.value)
                assert await keys.find(["a"]) == {}, "not from memory either"

        await keys.destroy(["a"])
        assert wrapped not in _bytes(tmp_path)


# A disk that is full.


@contextmanager
def no_more_pages(keys: Any, _: Path) -> Iterator[None]:
    """Let the file have no page more: found full while it is written."""
    (pages,) = keys._file.db.execute("PRAGMA page_count").fetchone()
    keys._file.db.execute(f"PRAGMA max_page_count={pages}")
    yield
    keys._file.db.execute("PRAGMA max_page_count=100000")


@contextmanager
def no_more_bytes(_: Any, path: Path) -> Iterator[None]:
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
    path: Path, keys: Any, full: Any, message: str
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
    async with keys_in(path.parent) as again:
        assert set(await again.find(["a", *many])) == set(many)


# The master key.


@pytest.mark.slow
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path) -> None:
    with served(tmp_path):
        pass
    (tmp_path / "master.key").write_bytes(b"short")

    assert "5 bytes" in ran("keys", "list", f"--data-dir={tmp_path}").error()


@pytest.mark.slow
def test_next_to_a_service_it_is_changed_and_the_next_start_needs_the_new_one_only(
    tmp_path: Path,
) -> None:
    with served(tmp_path) as service:
        key = service.new_key()
        with service.client(key) as client:
            found = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
            before = (tmp_path / "master.key").read_bytes()
            rotated = service.command("master-key", "rotate", "--json")
            again = client.get(f"/searches/{found['id']}").json()
            new = client.post("/contacts", json={"brand": "Kestrelle", "wait": True}).json()
    kept = Path(msgspec.json.decode(rotated)["kept"])
    assert kept.read_bytes() == before
    assert again["contacts"] == found["contacts"] != []
    assert new["status"] == "done"
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    kept.unlink()

    with served(tmp_path) as service, service.client(key) as client:
        assert client.get(f"/searches/{found['id']}").json()["contacts"] == found["contacts"]
    assert not list(tmp_path.glob("master.key.*"))
