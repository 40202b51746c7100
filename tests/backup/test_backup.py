"""``cs backup`` and ``cs restore``: all that was answered before, or an error and no change."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_IMODE
from typing import Any

import httpx
import pytest

from cli.command import Ran, ran
from harness.in_process import on_folder
from harness.outside import ADA, BEN, SlowStaff, slow_tools
from harness.served import served
from harness.stores import half_changed_master_key, opened

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backup") / "data"

    async def search() -> None:
        async with on_folder(folder) as service:
            found = await service.search(await service.new_key(), brand="Acme")
            assert found.json()["status"] == "done"

    asyncio.run(search())
    return folder


@pytest.fixture
def folder(made_once: Path, tmp_path: Path) -> Path:
    """A data folder with one search in it."""
    return shutil.copytree(made_once, tmp_path / "data")


def back_up(folder: Path, to: Path, *words: str) -> Ran:
    return ran("backup", str(to), *words, "--json", f"--data-dir={folder}")


def backed_up(folder: Path, to: Path, *words: str) -> dict[str, Any]:
    done = back_up(folder, to, *words)
    assert done.code == 0, done
    return done.rows[0]


def restore(at: Path, folder: Path, *words: str) -> Ran:
    return ran("restore", str(at), *words, "--json", f"--data-dir={folder}")


def restored(at: Path, folder: Path, *words: str) -> dict[str, Any]:
    done = restore(at, folder, *words)
    assert done.code == 0, done
    return done.rows[0]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def modes(folder: Path) -> set[int]:
    return {S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.name != "lock"}


async def test_what_was_answered_before_a_backup_under_load_is_served_after_it(
    tmp_path: Path,
) -> None:
    """Searches run, wait and are answered while the copy is taken."""
    folder, staff = tmp_path / "data", SlowStaff((ADA, BEN))
    async with on_folder(folder, slow_tools(staff)) as service:
        staff.let.set()
        keys = [await service.new_key() for _ in range(6)]
        before = [(await service.search(key, brand="Acme")).json() for key in keys]
        staff.let.clear()
        staff.asked.clear()
        running = (await service.search(keys[0], brand="Slow", wait=False)).json()
        await staff.asked.wait()

        async def load() -> None:
            while True:
                await service.search(await service.new_key(), brand="Acme")

        busy = [asyncio.create_task(load()) for _ in range(4)]
        made = await asyncio.to_thread(backed_up, folder, tmp_path / "backup")
        assert not any(task.done() for task in busy)
        for task in busy:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        assert await service.running.streams.log.head() > made["head"]
        assert made["violations"] == 0

    restored(tmp_path / "backup", tmp_path / "new", f"--master-key={folder / 'master.key'}")

    staff.let.set()
    async with on_folder(tmp_path / "new", slow_tools(staff)) as service:
        await service.running.reading.until_settled(running["id"])
        for key, record in zip(keys, before, strict=True):
            again = await service.read(key, record["id"])
            assert {**again, "usage": None} == {**record, "usage": None}
            assert again["usage"]["used"] == (2 if key is keys[0] else 1)
        ended = await service.read(keys[0], running["id"])
        assert (ended["status"], ended["charged"]) == ("done", True)


def test_a_served_folder_is_backed_up_and_brought_back(tmp_path: Path) -> None:
    at, keys, new = tmp_path / "backup", f"--keys={tmp_path / 'keys'}", tmp_path / "new"
    with served(tmp_path / "data") as service:
        key = json.loads(service.command("keys", "create", "--label=kept", "--json"))
        made = backed_up(service.folder, at, keys)
        refused = restore(at, service.folder).error()

    assert made["world"] == "sandbox"
    assert refused.startswith("another service")
    assert "--master-key" in restore(at, new, keys).error()
    restored(at, new, keys, f"--master-key={tmp_path / 'data' / 'master.key'}")
    listed = ran("keys", "list", "--json", f"--data-dir={new}").rows
    assert [(row["id"], row["label"]) for row in listed] == [(key["id"], "kept")]


def test_a_backup_whose_time_cannot_be_noted_says_so(folder: Path, tmp_path: Path) -> None:
    (folder / "last-backup").unlink(missing_ok=True)
    (folder / "last-backup").symlink_to(tmp_path / "no" / "folder")
    done = back_up(folder, tmp_path / "backup")

    assert done.code == 0
    assert "the time of this backup, which an alert looks at, could not be noted" in done.err


def test_the_keys_lie_apart_and_the_master_key_only_where_it_was_asked_for(
    folder: Path, tmp_path: Path
) -> None:
    apart, safe, asked = tmp_path / "one", tmp_path / "safe", tmp_path / "two"
    made = backed_up(folder, apart, f"--keys={safe}")
    backed_up(folder, asked, "--with-master-key")

    assert names(apart / "log") == ["log.db", "manifest.json"]
    assert names(safe) == ["keys.db", "manifest.json"]
    assert names(asked / "keys") == ["keys.db", "manifest.json", "master.key"]
    for each in (apart / "log", safe, asked / "log", asked / "keys"):
        assert modes(each) == {0o600}
    verified = ran("log", "verify", "--json", f"--data-dir={folder}").rows[-1]
    assert made["head"] == verified["events"]
    log, keys = (json.loads((at / "manifest.json").read_text()) for at in (apart / "log", safe))
    assert (keys["backup"], keys["part"], keys["world"]) == (log["backup"], "keys", "sandbox")


def test_all_comes_back_readable_for_its_owner_only(folder: Path, tmp_path: Path) -> None:
    """Also the operator's own people, the moved clock, and what a cut-off restore left."""
    file = tmp_path / "people.csv"
    file.write_text("name,company,email\nEva Holt,Acme,eva.holt@acme.test\n")
    assert ran("directory", "import", str(file), f"--data-dir={folder}").code == 0
    (folder / "clock").write_text("2592000\n")
    at, new = tmp_path / "backup", tmp_path / "new"
    backed_up(folder, at, "--with-master-key")
    assert b"Eva" not in (at / "log" / "directory.db").read_bytes()
    for path in (*(at / "log").iterdir(), *(at / "keys").iterdir()):
        path.chmod(0o644)
    (new / "restoring").mkdir(parents=True)
    (new / "restoring" / "log.db").write_bytes(b"half")

    restored(at, new)

    assert names(new) == ["clock", "directory.db", "keys.db", "lock", "log.db", "master.key"]
    assert modes(new) == {0o600}
    listed = ran("directory", "list", "--brand=Acme", "--json", f"--data-dir={new}").rows
    assert len(listed) == 1
    with served(new) as service:
        now = datetime.fromisoformat(httpx.get(service.clock_url).json()["now"])
        with service.client(service.new_key()) as client:
            again = client.post("/contacts", json={"brand": "Acme", "wait": True}).json()
    assert now - datetime.now(UTC) > timedelta(days=29)
    assert again["cached"] is False, "30 days later"


def test_a_folder_that_holds_anything_is_refused_and_left_alone(
    folder: Path, tmp_path: Path
) -> None:
    at, used = tmp_path / "backup", tmp_path / "used"
    backed_up(folder, at, "--with-master-key")
    before = (folder / "log.db").read_bytes()
    used.mkdir()
    (used / "letter.txt").write_text("mine")

    message = restore(at, folder).error()

    assert "holds data (" in message
    assert "nothing was changed" in message
    assert (folder / "log.db").read_bytes() == before
    for keys in ((), (f"--keys={tmp_path / 'apart'}",)):
        assert "is not empty" in back_up(folder, used, *keys).error()
    assert names(used) == ["letter.txt"]
    assert not (tmp_path / "apart").exists()
    assert "it is no backup" in restore(used, tmp_path / "new").error()


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
def test_a_damaged_backup_is_refused_and_nothing_is_put_in_place(
    folder: Path, tmp_path: Path, damage: Callable[[Path], None], file: str, message: str
) -> None:
    backed_up(folder, tmp_path / "backup", "--with-master-key")
    damage(tmp_path / "backup" / file)

    assert message in restore(tmp_path / "backup", tmp_path / "new").error()
    assert set(names(tmp_path / "new")) <= {"lock"}


def test_keys_have_to_be_of_this_backup_or_newer(folder: Path, tmp_path: Path) -> None:
    first, later, lacking = (tmp_path / name for name in "abc")
    master = f"--master-key={folder / 'master.key'}"
    backed_up(folder, first)
    backed_up(folder, later)

    def mixed(log: Path, keys: Path, to: str) -> Ran:
        return restore(log, tmp_path / to, f"--keys={keys / 'keys'}", master)

    swapped = tmp_path / "swapped"
    swapped.mkdir()
    shutil.copytree(first / "keys", swapped / "log")
    assert "holds the keys of a backup, not its log" in restore(swapped, tmp_path / "x").error()
    assert "older than the log" in mixed(later, first, "new").error()
    assert "of a later backup" in mixed(first, later, "new").err

    with closing(sqlite3.connect(folder / "keys.db")) as db, db:
        people = [n for (n,) in db.execute("SELECT name FROM data_key WHERE name LIKE '%#%'")]
        db.execute("UPDATE data_key SET wrapped = NULL WHERE name = ?", people[:1])
        db.execute("DELETE FROM data_key WHERE name = ?", people[1:2])
    made = backed_up(folder, lacking)
    assert made["keys_lost"] == 1, "a key that was destroyed is not lost"
    refused = mixed(first, lacking, "third")
    assert refused.code == 1
    assert "lacks 1 keys of people" in refused.err
    assert "which lacked 0" in refused.err
    assert mixed(lacking, lacking, "fourth").code == 0


def test_another_master_key_is_refused(folder: Path, tmp_path: Path) -> None:
    backed_up(folder, tmp_path / "backup")
    other = tmp_path / "other.key"
    other.write_bytes(b"x" * 32)

    message = restore(tmp_path / "backup", tmp_path / "new", f"--master-key={other}").error()

    assert "another master key" in message
    restored(tmp_path / "backup", tmp_path / "new", f"--master-key={folder / 'master.key'}")
    assert S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


async def test_a_backup_waits_for_the_end_of_a_change_of_the_master_key(
    folder: Path, tmp_path: Path
) -> None:
    at, new = tmp_path / "backup", tmp_path / "new"
    await half_changed_master_key(folder)

    assert "run `cs master-key rotate` to its end" in back_up(folder, at).error()
    assert not (at / "keys").exists()

    assert ran("master-key", "rotate", f"--data-dir={folder}").code == 0
    backed_up(folder, at, "--with-master-key")
    restored(at, new)
    async with opened(new) as stores:
        assert "Ada Kern" in await stores.stored()
        assert not stores.keys.lost.read
