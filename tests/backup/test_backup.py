"""A backup holds everything that was answered before it, and says so only if it is whole."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_IMODE

import msgspec
import pytest

from contracts.people_directory import ADA as OWN
from contracts.people_directory import put
from cs.assembly.folder import clock_of_data, open_folder, sandbox_clock
from cs.assembly.folder_keys import make_next_master_key, open_key_store
from cs.assembly.master_key import change
from cs.assembly.people_directory import open_directory
from cs.backup import (
    MANIFEST,
    BackupError,
    BackupFolders,
    Manifest,
    backup_folders,
    make,
    restore,
)
from cs.runtime.data_folder import DataFolder, DataFolderError
from cs.settings import Settings
from harness.in_process import Service, on_folder
from harness.outside import ADA, BEN, SlowStaff, slow_tools

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def backed_up(
    folder: Path, at: BackupFolders, *, with_master_key: bool = False, made_at: datetime = NOW
) -> Manifest:
    source = DataFolder(folder, make=False)
    return await make(source, at, made_at, with_master_key=with_master_key)


async def brought_back(
    at: BackupFolders, folder: Path, master_key: Path | None = None
) -> tuple[Manifest, Manifest]:
    return await restore(at, DataFolder(folder), master_key)


async def searched(service: Service) -> dict[str, object]:
    """Return the record of a search that ended with a verified mailbox."""
    record: dict[str, object] = (
        await service.search(await service.new_key(), brand="Acme")
    ).json()
    assert record["status"] == "done"
    return record


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A data folder with one search in it."""
    folder = tmp_path / "data"
    async with on_folder(folder) as service:
        await searched(service)
    return folder


@pytest.fixture
def at(tmp_path: Path) -> BackupFolders:
    return backup_folders(tmp_path / "backup", None)


@pytest.mark.slow
async def test_what_was_answered_before_a_backup_under_load_is_served_after_it(
    tmp_path: Path, at: BackupFolders
) -> None:
    """Searches run, wait and are answered while the copy is taken."""
    folder, staff = tmp_path / "data", SlowStaff((ADA, BEN))
    async with on_folder(folder, slow_tools(staff)) as service:
        staff.let.set()
        keys = [await service.new_key() for _ in range(6)]
        before = [(await service.search(key, brand="Acme")).json() for key in keys]
        staff.let.clear()
        staff.asked.clear()
        async with service.client(keys[0]) as client:
            running = (await client.post("/contacts", json={"brand": "Slow"})).json()
        await staff.asked.wait()

        async def load() -> None:
            while True:
                await service.search(await service.new_key(), brand="Acme")

        busy = [asyncio.create_task(load()) for _ in range(4)]
        manifest = await backed_up(folder, at)
        assert not any(task.done() for task in busy)
        for task in busy:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert await service.running.streams.log.head() > manifest.head

    await brought_back(at, tmp_path / "new", folder / "master.key")

    staff.let.set()
    async with on_folder(tmp_path / "new", slow_tools(staff)) as service:
        await service.running.reading.until_settled(running["id"])
        for key, record in zip(keys, before, strict=True):
            async with service.client(key) as client:
                again = (await client.get(f"/searches/{record['id']}")).json()
                used = (await client.get("/usage")).json()["used"]
            assert {**again, "usage": None} == {**record, "usage": None}
            assert used == (2 if key is keys[0] else 1)
        async with service.client(keys[0]) as client:
            ended = (await client.get(f"/searches/{running['id']}")).json()
        assert (ended["status"], ended["charged"]) == ("done", True)
    assert manifest.violations == 0


async def test_the_keys_lie_apart_and_the_master_key_only_where_it_was_asked_for(
    folder: Path, tmp_path: Path
) -> None:
    apart = backup_folders(tmp_path / "one", tmp_path / "safe")
    made = await backed_up(folder, apart)
    asked = backup_folders(tmp_path / "two", None)
    await backed_up(folder, asked, with_master_key=True)

    def names(where: Path) -> set[str]:
        return {path.name for path in where.iterdir()}

    def modes(*folders: Path) -> set[int]:
        files = [path for folder in folders for path in folder.iterdir()]
        return {S_IMODE(path.stat().st_mode) for path in files}

    assert names(apart.log) == {"log.db", MANIFEST}
    assert names(tmp_path / "safe") == {"keys.db", MANIFEST}
    assert names(asked.keys) == {"keys.db", "master.key", MANIFEST}
    assert modes(apart.log, apart.keys, asked.log, asked.keys) == {0o600}
    async with open_folder(DataFolder(folder)) as data:
        assert made.head == await data.log.head()
    keys = msgspec.json.decode((apart.keys / MANIFEST).read_bytes(), type=Manifest)
    assert (keys.backup, keys.part, keys.world) == (made.backup, "keys", "sandbox")


async def test_the_operators_own_people_come_back(folder: Path, at: BackupFolders) -> None:
    own = Settings(data_dir=folder)
    restored = Settings(data_dir=folder.with_name("restored"))
    async with open_directory(own) as directory:
        await put(directory, OWN)
    await backed_up(folder, at, with_master_key=True)
    assert b"Ada" not in (at.log / "directory.db").read_bytes()

    await brought_back(at, restored.data_dir)

    async with open_directory(restored) as directory:
        assert await directory.get(OWN.known_as) == OWN


async def test_files_come_back_readable_for_nobody_else(
    folder: Path, tmp_path: Path, at: BackupFolders
) -> None:
    await backed_up(folder, at, with_master_key=True)
    for path in (at.log / "log.db", at.keys / "keys.db", at.keys / "master.key"):
        path.chmod(0o644)

    await brought_back(at, tmp_path / "new")

    files = sorted(path for path in (tmp_path / "new").iterdir() if path.name != "lock")
    assert [path.name for path in files] == ["keys.db", "log.db", "master.key"]
    assert {S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


async def test_a_folder_with_data_is_refused_and_left_as_it_was(
    folder: Path, at: BackupFolders
) -> None:
    await backed_up(folder, at, with_master_key=True)
    before = (folder / "log.db").read_bytes()

    with pytest.raises(
        BackupError, match=r"holds data \(keys.db, log.db, .*nothing was changed"
    ):
        await brought_back(at, folder)

    assert (folder / "log.db").read_bytes() == before
    async with on_folder(folder.with_name("served")):
        with pytest.raises(DataFolderError, match="another service"):
            await brought_back(at, folder.with_name("served"))


async def test_a_folder_that_holds_anything_is_refused_and_left_alone(
    folder: Path, tmp_path: Path
) -> None:
    used = tmp_path / "used"
    used.mkdir()
    (used / "letter.txt").write_text("mine")

    with pytest.raises(BackupError, match="is not empty"):
        await backed_up(folder, backup_folders(used, None))
    with pytest.raises(BackupError, match="is not empty"):
        await backed_up(folder, backup_folders(used, tmp_path / "keys"))

    assert [path.name for path in used.iterdir()] == ["letter.txt"]
    assert not (tmp_path / "keys").exists()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "file", "message"),
    [
        (Path.unlink, "log/manifest.json", "not finished"),
        (Path.unlink, "keys/manifest.json", "not finished"),
        (cut, "log/manifest.json", "is damaged"),
        (Path.unlink, "log/log.db", "is missing from the backup"),
        (cut, "log/log.db", "was damaged"),
        (flip, "log/log.db", "was damaged"),
        (flip, "keys/keys.db", "was damaged"),
        (flip, "keys/master.key", "was damaged"),
    ],
)
async def test_a_damaged_backup_is_refused_and_nothing_is_put_in_place(
    folder: Path, tmp_path: Path, damage: Callable[[Path], None], file: str, message: str
) -> None:
    at = backup_folders(tmp_path / "backup", None)
    await backed_up(folder, at, with_master_key=True)
    damage(tmp_path / "backup" / file)

    with pytest.raises(BackupError, match=message):
        await brought_back(at, tmp_path / "new")

    assert {path.name for path in (tmp_path / "new").iterdir()} <= {"lock"}


async def test_keys_have_to_be_of_this_backup_or_newer(folder: Path, tmp_path: Path) -> None:
    first, later, lacking = (backup_folders(tmp_path / name, None) for name in "abc")
    master = folder / "master.key"
    await backed_up(folder, first)
    await backed_up(folder, later, made_at=NOW + timedelta(days=1))

    with pytest.raises(BackupError, match="holds the keys of a backup, not its log"):
        await brought_back(BackupFolders(first.keys, first.log), tmp_path / "new")
    with pytest.raises(BackupError, match="older than the log"):
        await brought_back(BackupFolders(later.log, first.keys), tmp_path / "new", master)
    log, keys = await brought_back(
        BackupFolders(first.log, later.keys), tmp_path / "new", master
    )
    assert keys.backup != log.backup

    async with open_folder(DataFolder(folder)) as data:
        with closing(sqlite3.connect(folder / "keys.db")) as db:
            people = [n for (n,) in db.execute("SELECT name FROM data_key") if "#" in n]
        await data.keys.destroy(people[:1])
    with closing(sqlite3.connect(folder / "keys.db")) as db, db:
        gone = db.execute("DELETE FROM data_key WHERE name = ?", (people[1],)).rowcount
    made = await backed_up(folder, lacking, made_at=NOW + timedelta(days=2))
    assert (gone, made.keys_lost) == (1, 1), "a key that was destroyed is not lost"
    with pytest.raises(BackupError, match=r"lacks 1 keys of people .* which lacked 0"):
        await brought_back(BackupFolders(first.log, lacking.keys), tmp_path / "third", master)
    assert (await brought_back(lacking, tmp_path / "fourth", master))[0] == made


async def test_another_master_key_is_refused(
    folder: Path, tmp_path: Path, at: BackupFolders
) -> None:
    await backed_up(folder, at)
    other = tmp_path / "other.key"
    other.write_bytes(b"x" * 32)

    with pytest.raises(BackupError, match="another master key"):
        await brought_back(at, tmp_path / "new", other)
    with pytest.raises(BackupError, match="--master-key"):
        await brought_back(at, tmp_path / "new")

    await brought_back(at, tmp_path / "new", folder / "master.key")


async def test_a_restore_that_was_cut_off_can_be_made_again(
    folder: Path, tmp_path: Path, at: BackupFolders
) -> None:
    await backed_up(folder, at, with_master_key=True)
    left = tmp_path / "new" / "restoring"
    left.mkdir(parents=True)
    (left / "log.db").write_bytes(b"half")

    await brought_back(at, tmp_path / "new")

    assert not left.exists()
    async with on_folder(tmp_path / "new") as service:
        assert (await searched(service))["cached"] is True


async def test_a_backup_waits_for_the_end_of_a_change_of_the_master_key(
    folder: Path, tmp_path: Path, at: BackupFolders
) -> None:
    data = DataFolder(folder)
    version = make_next_master_key(data)
    async with open_key_store(data) as keys:
        await keys.begin_rotation(version)
        await keys.rewrap("", 1)
        assert await keys.left() > 0

    with pytest.raises(BackupError, match="run `cs master-key rotate` to its end"):
        await backed_up(folder, at, with_master_key=True)
    assert not at.keys.exists()

    await change(Settings(data_dir=folder), lambda *_: None)
    await backed_up(folder, at, with_master_key=True)
    await brought_back(at, tmp_path / "new")
    async with open_folder(DataFolder(tmp_path / "new")) as restored:
        assert await restored.log.tail(0)
        assert not restored.keys.lost.read


async def test_a_sandbox_whose_clock_was_moved_goes_on_at_that_time(
    folder: Path, tmp_path: Path, at: BackupFolders
) -> None:
    clock = sandbox_clock(folder)
    await clock.move_to(clock.now() + timedelta(days=30))
    before = clock.now()
    await backed_up(folder, at, with_master_key=True)
    await clock.move_to(clock.now() + timedelta(days=30))

    await brought_back(at, tmp_path / "new")

    async with open_folder(DataFolder(tmp_path / "new")) as data:
        restored = await clock_of_data(data.log, tmp_path / "new")
    assert before <= restored.now() < clock.now() - timedelta(days=29)
