"""A data folder that cannot be used: what is reported, and that the advice is the right one."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.command import Here, environment
from harness.full_disk import no_file_larger

#: The account that root gives its rights up for.
_WITHOUT_RIGHTS = 65534
BACKUP = "bring it back from a backup, or name another folder with --data-dir"
#: `cs` without the rights of root, which no file mode binds.
UNPRIVILEGED = f"""
import os
import harness.preloaded  # while it can be read
from cs.cli.app import main
if os.getuid() == 0:
    os.setuid({_WITHOUT_RIGHTS})
main()
"""
CREATE = ("keys", "create", "--quota=1")


class Folder:
    """A data folder with one key in it, and the command that makes another."""

    def __init__(self, here: Here, path: Path) -> None:
        self.here, self.path, self.log = here, path, path / "log.db"

    def append(self) -> None:
        ran = self.here(*CREATE, f"--data-dir={self.path}")
        assert ran.code == 0, ran

    def refused(self) -> str:
        return self.here(*CREATE, f"--data-dir={self.path}").error()

    def events(self) -> int:
        with closing(sqlite3.connect(self.log)) as log:
            (count,) = log.execute("SELECT count(*) FROM stored_events").fetchone()
        return int(count)


@pytest.fixture
def folder(here: Here, tmp_path: Path) -> Folder:
    folder = Folder(here, tmp_path / "data")
    folder.append()
    return folder


@pytest.mark.parametrize("file", ["log.db", "keys.db"])
def test_a_lock_of_another_process_is_to_be_waited_for(
    folder: Folder, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening = sqlite3.connect

    def hasty(*args: Any, **options: Any) -> Any:
        return opening(*args, **{**options, "timeout": 0.1})

    monkeypatch.setattr("cs.sqlite.database.sqlite3.connect", hasty)
    with closing(sqlite3.connect(folder.path / file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        why = folder.refused()

    assert "another process has held its lock too long (database is locked)" in why
    assert why.endswith(
        "end the process that holds it, or wait until it is done, and try again"
    )
    assert BACKUP not in why
    folder.append()


def test_a_full_disk_wants_room(folder: Folder) -> None:
    stored = folder.events()
    with no_file_larger(4096):
        why = folder.refused()

    assert (
        "the disk is full or read-only, or has failed (disk I/O error); make room on its disk"
        in why
    )
    assert BACKUP not in why
    folder.append()
    assert folder.events() == stored + 1


def test_a_first_start_on_a_full_disk_leaves_nothing_that_is_in_the_way(
    here: Here, tmp_path: Path
) -> None:
    folder = Folder(here, tmp_path)
    with no_file_larger(0):
        why = folder.refused()

    assert BACKUP not in why
    assert not (tmp_path / "master.key").exists()
    folder.append()


def _read_only_file(folder: Folder) -> None:
    folder.path.chmod(0o777)
    folder.log.chmod(0o444)


def _read_only_folder(folder: Folder) -> None:
    folder.path.chmod(0o555)


def _others_keys(folder: Folder) -> None:
    folder.path.chmod(0o777)
    if os.getuid() == 0:
        os.chown(folder.path / "master.key", 0, 0)
    else:
        (folder.path / "master.key").chmod(0o000)


@pytest.mark.slow
@pytest.mark.parametrize("lack", [_read_only_file, _read_only_folder, _others_keys])
def test_a_missing_right_is_to_be_given(here: Here, lack: Callable[[Folder], None]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(here, Path(name))
        folder.append()
        for file in folder.path.iterdir():
            file.chmod(0o666)
        master = folder.path / "master.key"
        master.chmod(0o600)  # or it is refused before anything else is looked at
        if os.getuid() == 0:
            os.chown(master, _WITHOUT_RIGHTS, -1)
        lack(folder)
        ran = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, *CREATE, f"--data-dir={name}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment(PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        )
        folder.path.chmod(0o700)

    if lack is _read_only_file and os.getuid():
        # A file of its own is made writable for its owner (0600), as all data files are.
        assert ran.returncode == 0
        return
    assert "give this user the right to" in ran.stderr
    assert BACKUP not in ran.stderr


def test_a_damaged_event_wants_a_backup(folder: Folder) -> None:
    with closing(sqlite3.connect(folder.log)) as log, log:
        log.execute("UPDATE stored_events SET state = x'ff'")

    why = folder.here("events", "show", "1", f"--data-dir={folder.path}").error()

    assert "version 0, is damaged" in why
    assert "`cs log verify` lists all damage; bring it back from a backup" in why
