"""Temporary folders of a process are gone when it is, also when it was killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.served import served

#: Makes a folder with a file in it, says so, and waits to be killed.
OWNER = """
import sys
from pathlib import Path
from cs.runtime.private_files import temporary_folder
with temporary_folder(Path(sys.argv[1]), "mine-") as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def owner(parent: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", OWNER, str(parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def made_by(process: "subprocess.Popen[str]") -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_goes_and_what_others_have_stays(tmp_path: Path) -> None:
    (tmp_path / "yours-1").mkdir()
    (tmp_path / "yours-1" / "file").touch()
    (tmp_path / "mine-file").touch()
    (tmp_path / "mine-link").symlink_to(tmp_path / "yours-1")
    with owner(tmp_path) as killed, owner(tmp_path) as living:
        try:
            left, kept = made_by(killed), made_by(living)
            os.kill(killed.pid, signal.SIGKILL)
            killed.wait()

            with owner(tmp_path) as third:
                folder = made_by(third)
                assert not left.exists()
                assert (kept / "file").exists()
                assert folder not in {left, kept}
                third.communicate()
        finally:
            living.communicate()

    assert {path.name for path in tmp_path.iterdir()} == {"yours-1", "mine-file", "mine-link"}
    assert (tmp_path / "yours-1" / "file").exists()


@pytest.mark.slow
def test_a_killed_sandbox_leaves_nothing_outside_its_data_and_the_next_clears_it(
    tmp_path: Path,
) -> None:
    data, temporary = tmp_path / "data", tmp_path / "tmp"
    temporary.mkdir()

    def certificates() -> set[str]:
        return {path.name for path in data.glob("sandbox-*")}

    with served(data, TMPDIR=str(temporary)) as service:
        first = certificates()
        service.kill()
        assert certificates() == first
        service.start()
        second = certificates()
        assert service.stop() == 0

    assert (len(first), len(second), first & second) == (1, 1, set())
    assert certificates() == set()
    assert list(temporary.iterdir()) == []
