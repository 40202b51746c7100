"""The event loop of what serves: uvloop's where it is installed, else asyncio's own.

With it and llhttp a bare answer takes a third of the processor's time (bench/thin_path.py),
and nothing here needs more of a loop than both have.  It is no part of Windows.
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
