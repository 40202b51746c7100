"""Samples this process and writes its stacks when it ends; for `dev/flame_graph.py` alone.

Python imports this module at its start where its folder is in `PYTHONPATH`: so the service that
a benchmark starts is sampled as well as the benchmark.  A timer of processor time interrupts
the main thread; a process that waits is not sampled.  Where the main thread was waiting at that
moment, another thread took the time, and those that do something are counted instead.
"""

import atexit
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

#: Processor time between two samples; Linux counts it in ticks of some milliseconds.
EVERY_S = 0.002
#: Functions whose frame is innermost where a thread waits for something.
WAITS = {
    "select",
    "poll",
    "wait",
    "_worker",
    "accept",
    "get",
    "run",
    "run_until_complete",
    "_run",
}

_stacks: Counter[tuple[str, ...]] = Counter()


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    found = []
    while frame is not None:
        module = frame.f_globals.get("__name__", "?")
        if not module.startswith("importlib._bootstrap"):  # five bars for each import
            found.append(f"{module}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(found))


def _sample(_: int, frame: FrameType | None) -> None:
    if frame is None or frame.f_code.co_name not in WAITS:
        _stacks[_stack(frame)] += 1
        return
    here = threading.get_ident()
    for thread, other in sys._current_frames().items():  # noqa: SLF001  there is no other way
        if thread != here and other.f_code.co_name not in WAITS:
            _stacks[_stack(other)] += 1


def _write(folder: str) -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    lines = (f"{';'.join(stack)} {count}\n" for stack, count in _stacks.items())
    Path(folder, f"{os.getpid()}.stacks").write_text("".join(lines))


if folder := os.environ.get("FLAME_GRAPH_TO"):
    signal.signal(signal.SIGPROF, _sample)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    atexit.register(_write, folder)
