"""A data folder that cannot be used: what is reported, and that the advice is the right one.

Run as a program this file is the process that lacks a right.
"""

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from contracts.event_log import units
from cs.assembly.folder import open_folder
from cs.eventlog.port import NO_STREAM, Append
from cs.runtime.data_folder import DataFolder, DataFolderError

#: The account that root gives its rights up for.
_WITHOUT_RIGHTS = 65534
BACKUP = "bring it back from a backup, or name another folder with --data-dir"


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    """A data folder with one event in it."""
    folder = DataFolder(tmp_path / "data")
    asyncio.run(append(folder))
    return folder


async def append(folder: DataFolder) -> int:
    async with open_folder(folder, lock_timeout_s=0) as data:
        last = (await data.log.tail(0))[-1:]
        expected = last[0].version if last else NO_STREAM
        return await data.log.append([Append("key-a", expected, units(1))])


def told(folder: DataFolder) -> str:
    with pytest.raises(DataFolderError) as error:
        asyncio.run(append(folder))
    return str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["log.db", "keys.db"])
def test_a_lock_of_another_process_is_to_be_waited_for(folder: DataFolder, file: str) -> None:
    with closing(sqlite3.connect(folder.path / file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        why = told(folder)

    assert why.startswith(f"the data in {folder.path} cannot be used: ")
    assert "another process has held its lock too long (database is locked)" in why
    assert why.endswith(
        "end the process that holds it, or wait until it is done, and try again"
    )
    assert BACKUP not in why
    assert asyncio.run(append(folder)) == 2


def test_a_full_disk_wants_room(folder: DataFolder) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        why = told(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert "the disk is full or has failed (disk I/O error); make room on its disk" in why
    assert BACKUP not in why
    assert asyncio.run(append(folder)) == 2


def test_a_first_start_on_a_full_disk_leaves_nothing_that_is_in_the_way(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        why = told(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert BACKUP not in why
    assert not folder.master_key.exists()
    assert asyncio.run(append(folder)) == 1


def _read_only_file(folder: DataFolder) -> None:
    folder.path.chmod(0o777)
    folder.log.chmod(0o444)


def _read_only_folder(folder: DataFolder) -> None:
    folder.path.chmod(0o555)


def _others_keys(folder: DataFolder) -> None:
    folder.path.chmod(0o777)
    if os.getuid() == 0:
        os.chown(folder.master_key, 0, 0)
    else:
        folder.master_key.chmod(0o000)


@pytest.mark.slow
@pytest.mark.parametrize("lack", [_read_only_file, _read_only_folder, _others_keys])
def test_a_missing_right_is_to_be_given(lack: Callable[[DataFolder], None]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = DataFolder(Path(name))
        asyncio.run(append(folder))
        for file in folder.path.iterdir():
            file.chmod(0o666)
        folder.master_key.chmod(0o600)  # or it is refused before anything else is looked at
        if os.getuid() == 0:
            os.chown(folder.master_key, _WITHOUT_RIGHTS, -1)
        lack(folder)
        ran = subprocess.run(
            [sys.executable, __file__, name],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        folder.path.chmod(0o700)

    assert ran.stderr == ""
    if lack is _read_only_file and os.getuid():
        # A file of its own is made writable for its owner (0600), as all data files are.
        assert ran.stdout == ""
        return
    assert "give this user the right to" in ran.stdout
    assert BACKUP not in ran.stdout


def test_a_damaged_log_wants_a_backup(folder: DataFolder) -> None:
    folder.log.write_bytes(b"no database at all" * 100)

    why = told(folder)

    assert "could not be opened: it is damaged (file is not a database)" in why
    assert why.endswith(BACKUP)


def test_a_damaged_event_wants_a_backup(folder: DataFolder) -> None:
    with closing(sqlite3.connect(folder.log)) as log, log:
        log.execute("UPDATE stored_events SET state = x'ff'")

    why = told(folder)

    assert "event 1, key-a version 0, is damaged" in why
    assert why.endswith("`cs log verify` lists all damage; bring it back from a backup")


def _without_rights(path: Path) -> None:
    if os.getuid() == 0:
        os.setuid(_WITHOUT_RIGHTS)  # rights bind everybody but root
    try:
        asyncio.run(append(DataFolder(path)))
    except DataFolderError as error:
        print(error)  # noqa: T201


if __name__ == "__main__":
    _without_rights(Path(sys.argv[1]))
