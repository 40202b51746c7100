"""What work on hostile input may cost: seconds of this thread's processor, and memory."""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

MIB = 1024 * 1024


def cost(work: Callable[[], Any]) -> tuple[float, float]:
    """Return what *work* costs: processor seconds of this thread, and MiB at its peak.

    It is done twice, since counting memory makes it slower; other processes do not count.
    """
    started = time.thread_time()
    work()
    seconds = time.thread_time() - started
    tracemalloc.start()
    try:
        work()
        return seconds, tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def within(work: Callable[[], Any], *, seconds: float, mib: float) -> None:
    """Do *work* and fail if it costs more than its budget."""
    took, peak = cost(work)
    assert took <= seconds, f"{took:.2f} s of processor, {seconds} s allowed"
    assert peak <= mib, f"{peak:.1f} MiB, {mib} MiB allowed"
