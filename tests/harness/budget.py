"""What work on hostile input may cost: seconds of processor, and memory."""

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

MIB = 1024 * 1024


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the processor seconds that *work* costs, in whatever threads."""
    started = time.process_time()
    work()
    return time.process_time() - started


def mib_of(work: Callable[[], Any]) -> float:
    """Return the MiB that *work* holds at its peak; counting makes it many times slower."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def within(work: Callable[[], Any], *, seconds: float, mib: float) -> None:
    """Do *work* twice and fail if it costs more than its budget."""
    took = seconds_of(work)
    assert took <= seconds, f"{took:.2f} s of processor, {seconds} s allowed"
    peak = mib_of(work)
    assert peak <= mib, f"{peak:.1f} MiB, {mib} MiB allowed"
