"""A server is shared by whoever asks for it and ends with the last of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from harness.servers.missing import Missing
from harness.servers.programs import find_binaries
from harness.servers.shared import shared

pytestmark = pytest.mark.slow

#: Holds the server until it is told to go, or killed.
HOLDER = """
import sys
from pathlib import Path
from harness.servers.shared import shared
with shared(Path(sys.argv[1]), "postgres") as address:
    print(address, flush=True)
    sys.stdin.readline()
"""


def holder(folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def answers(dsn: str) -> bool:
    try:
        connection = await asyncpg.connect(dsn)
    except OSError:
        return False
    await connection.close()
    return True


async def test_two_processes_use_one_server_and_it_outlives_a_killed_one(
    tmp_path: Path,
) -> None:
    find_binaries()  # what the other process starts
    with holder(tmp_path) as other:
        assert other.stdout is not None
        theirs = other.stdout.readline().strip()
        with shared(tmp_path, "postgres") as ours:
            os.kill(other.pid, signal.SIGKILL)
            other.wait()

            assert await answers(ours)
    assert urlsplit(ours).port == urlsplit(theirs).port


async def test_the_last_one_out_ends_the_server(tmp_path: Path) -> None:
    with shared(tmp_path, "postgres") as first:
        assert await answers(first)
    gone = not await answers(first)

    with shared(tmp_path, "postgres") as second:
        assert await answers(second)
    assert gone


def test_a_server_that_cannot_be_had_is_told_to_everybody(tmp_path: Path) -> None:
    for _ in range(2):
        with (
            pytest.raises(Missing, match="There is no PostgreSQL 9"),
            shared(tmp_path, "postgres", "9"),
        ):
            pass
