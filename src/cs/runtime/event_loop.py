"""The event loop of what serves callers: uvloop's where it is installed, else asyncio's own.

It takes a third off the processor time of a bare answer (bench/thin_path.py), and nothing there
needs more of a loop than both have.  It is not available on Windows.

The other roles stay on asyncio's: a connection that aiokafka had left open kept uvloop's
`close` waiting for 30 seconds, and a process that ends because Kafka hangs has to end.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a loop that does not run yet."""
    try:
        import uvloop  # noqa: PLC0415  not in every installation, and not for every command
    except ImportError:
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Do as `asyncio.run`, on such a loop."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
