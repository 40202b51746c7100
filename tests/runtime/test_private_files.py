"""Whatever the umask: only its owner reads what the service writes."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.databases import read_key
from cs.assembly.folder import CLOCK_FILE, open_folder, open_paid_calls
from cs.backup import backup_folders, make
from cs.paid_calls.current_work import CURRENT_LOOKUP
from cs.runtime.data_folder import DataFolder, DataFolderError
from cs.runtime.private_files import exposed
from cs.settings import BadSettings, Settings


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {str(file.relative_to(folder)): file.stat().st_mode & 0o777 for file in files}


@pytest.mark.usefixtures("open_umask")
async def test_every_file_of_a_data_folder_and_of_its_backup_is_its_owners(
    tmp_path: Path,
) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup"
    data.mkdir(mode=0o777)
    folder = DataFolder(data)
    with folder.held():
        async with open_folder(folder), open_paid_calls(Settings(data_dir=data)) as paid:

            async def answer(_: str) -> bytes:
                return b"answer"

            CURRENT_LOOKUP.set("brand-a.1")
            await paid.once("provider", "request", answer)
            clock = SandboxClock.on_file(data / CLOCK_FILE)
            await clock.move_to(clock.now() + timedelta(hours=1))
            here = backup_folders(backup, None)
            await make(folder, here, datetime.now(UTC), with_master_key=True)
            found = modes(tmp_path)

    assert set(found.values()) == {0o600}, found
    names = {Path(name).name for name in found}
    assert names >= {"lock", "clock", "calls.db", "master.key", "manifest.json"} | {
        f"{name}.db{suffix}"
        for name in ("log", "keys", "views")
        for suffix in ("", "-wal", "-shm")
    }


async def test_files_that_others_could_read_are_closed_to_them(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    async with open_folder(folder):
        pass
    for file in (folder.log, folder.views, folder.data_keys):
        file.chmod(0o644)

    async with open_folder(folder):
        assert set(modes(tmp_path).values()) == {0o600}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o660, 0o444, 0o777])
async def test_a_master_key_that_others_can_read_is_refused_with_what_to_run(
    tmp_path: Path, mode: int
) -> None:
    folder = DataFolder(tmp_path)
    async with open_folder(folder):
        pass
    folder.master_key.chmod(mode)

    with pytest.raises(DataFolderError, match=f"chmod 600 {folder.master_key}$"):
        async with open_folder(folder):
            pass
    with pytest.raises(BadSettings, match=f"chmod 600 {folder.master_key}$"):
        read_key(folder.master_key, "master_key_file")


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_key_that_only_its_owner_can_read_is_accepted(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"k" * 32)
    file.chmod(mode)

    assert read_key(file, "master_key_file") == b"k" * 32


@pytest.mark.parametrize(
    ("options", "system", "taken"),
    [
        ("ro,relatime", "tmpfs tmpfs rw,size=8k", True),  # Kubernetes
        ("ro,nosuid,nodev,noexec", "ramfs none rw,mode=700", True),  # systemd
        ("rw,nosuid,nodev", "tmpfs tmpfs rw", False),  # /dev/shm
        ("ro,relatime", "ext4 /dev/vda1 rw", False),
    ],
)
def test_a_group_may_read_a_key_only_where_it_is_mounted_read_only_in_memory(
    tmp_path: Path, options: str, system: str, taken: bool
) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"k" * 32)
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "23 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
        f"96 23 0:52 / {tmp_path} {options} shared:7 - {system}\n"
    )

    file.chmod(0o440)
    assert (exposed(file, mounts) is None) is taken
    file.chmod(0o444)
    assert exposed(file, mounts) is not None
    file.chmod(0o400)
    assert exposed(file, mounts) is None
