"""Processes of this machine: found by what /proc has of them, suspended, ended."""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
#: Time limit for all threads to stop: each notices at its next step into the kernel.
_STOPPED_S = 10.0
_LOOK_S = 0.02


def command_line(pid: int) -> str:
    """Return the words of a process; empty if there is none, or it has ended unwaited for."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def process_ids() -> Iterator[int]:
    """Yield the id of every process there is."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            yield int(folder.name)


def started_with(variable: str, value: str) -> Iterator[int]:
    """Yield the ids of running processes that inherited *variable* with *value*.

    Those of other accounts are left out unless we are root.
    """
    wanted = f"{variable}={value}".encode()
    for pid in process_ids():
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            environment = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
            if wanted in environment and command_line(pid):
                yield pid


def end(pids: Iterable[int], within_s: float) -> list[int]:
    """Send SIGTERM to *pids*, and SIGKILL to those that run after *within_s*; return those."""
    left = [pid for pid in pids if command_line(pid)]
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)
    give_up = time.monotonic() + within_s
    while left and time.monotonic() < give_up:
        time.sleep(_LOOK_S)
        left = [pid for pid in left if command_line(pid)]
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def suspend(pid: int) -> None:
    """Stop the process *pid* and return when none of its threads runs.

    Raises:
        ProcessLookupError: It has ended.
        TimeoutError: It runs on.
    """
    os.kill(pid, signal.SIGSTOP)
    give_up = time.monotonic() + _STOPPED_S
    while not _is_stopped(pid):
        if time.monotonic() > give_up:
            raise TimeoutError(f"process {pid} runs on after SIGSTOP")


def _is_stopped(pid: int) -> bool:
    for stat in (_PROC / str(pid) / "task").glob("*/stat"):
        try:
            state = stat.read_text().rpartition(") ")[2][0]
        except (FileNotFoundError, ProcessLookupError):  # the thread has just ended
            continue
        if state not in "TtZX":
            return False
    return True
