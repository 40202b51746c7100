"""A process stopped in its tracks."""

import os
import signal
import time
from pathlib import Path

#: Until all its threads stand: each notices at its next step into the kernel.
_STANDS_S = 10.0


def suspend(pid: int) -> None:
    """Stop the process *pid* and return when none of its threads runs.

    Raises:
        ProcessLookupError: It has ended.
        TimeoutError: It runs on.
    """
    os.kill(pid, signal.SIGSTOP)
    give_up = time.monotonic() + _STANDS_S
    while not _stands(pid):
        if time.monotonic() > give_up:
            raise TimeoutError(f"process {pid} runs on after SIGSTOP")


def _stands(pid: int) -> bool:
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            state = stat.read_text().rpartition(") ")[2][0]
        except (FileNotFoundError, ProcessLookupError):  # the thread has just ended
            continue
        if state not in "TtZX":
            return False
    return True
