"""One server for all processes of a test run: the first starts it, the last one out ends it.

Nobody counts.  Each process that uses the server holds a shared lock on the file `held`, which
the system takes back however the process ends; the server's keeper waits for the exclusive
lock, gets it when nobody is left, and clears away.
"""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.servers.keeper import ADDRESS, HELD, MISSING
from harness.servers.missing import Missing

#: Longer than any server takes to start, a first download of Kafka included.
_START_S = 280
_STOP_S = 30
_LOOK_S = 0.02


@contextmanager
def shared(folder: Path, server: str, *options: str) -> Iterator[str]:
    """Return the address of the *server* that everybody with this *folder* shares.

    Raises:
        Missing: The machine cannot run it; everybody is told the same without trying again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    keeper = None
    try:
        with (folder / HELD).open("a") as held:
            with (folder / "starting").open("a") as starting:
                fcntl.flock(starting, fcntl.LOCK_EX)
                fcntl.flock(held, fcntl.LOCK_SH)
                if not (folder / ADDRESS).exists() and not (folder / MISSING).exists():
                    keeper = _start(folder, server, *options)
            if (folder / MISSING).exists():
                raise Missing((folder / MISSING).read_text())
            yield (folder / ADDRESS).read_text()
    finally:
        if keeper is not None:
            _wait(keeper)


def _start(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    """Start the keeper and return when it has written where the server is, or why not."""
    with (folder / "log").open("wb") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "harness.servers.keeper", folder, *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
            start_new_session=True,  # Ctrl-C is for the tests; the keeper sees them leave
        )
    give_up = time.monotonic() + _START_S
    while not (folder / ADDRESS).exists() and not (folder / MISSING).exists():
        try:
            keeper.wait(_LOOK_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() < give_up:
                continue
            keeper.terminate()
            keeper.wait()
        if (folder / ADDRESS).exists() or (folder / MISSING).exists():
            break  # it was written while we looked
        said = (folder / "log").read_text()[-2000:]
        raise Missing(f"The keeper of {words[0]} ended without a server. It said:\n{said}")
    return keeper


def _wait(keeper: "subprocess.Popen[bytes]") -> None:
    """Let the server be gone before we are; others may need it for longer than that."""
    try:
        keeper.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        _outlived.append(keeper)


#: Keepers whose servers others still use; kept so that nobody asks how they ended.
_outlived: list["subprocess.Popen[bytes]"] = []
