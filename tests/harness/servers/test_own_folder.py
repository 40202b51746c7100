"""A process is killed; what it had started is gone when the next one comes."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.servers.own_folder import own_folder, sweep
from harness.servers.programs import find_binaries

pytestmark = pytest.mark.slow

#: Starts a server, tells where, and dies without a chance to clear away.
KILLED = """
import os, signal
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres
with own_folder() as folder, running_postgres(folder / "postgres") as server:
    print(folder, server.port, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until(condition: Callable[[], bool], timeout_s: float = 20) -> None:
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, "it did not come about in time"


def test_a_folder_is_gone_when_it_is_left() -> None:
    with own_folder() as folder:
        (folder / "file").touch()
        swept = sweep()

        assert folder.exists()
    assert folder not in swept
    assert not folder.exists()


def test_the_server_of_a_killed_process_is_swept_away() -> None:
    find_binaries()  # what the other process starts
    died = subprocess.run(
        [sys.executable, "-c", KILLED],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    folder, port = died.stdout.split()
    assert listens(int(port))

    until(lambda: Path(folder) in sweep())

    until(lambda: not listens(int(port)))
    assert not Path(folder).exists()
