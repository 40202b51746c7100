"""`cs replay views` in a process of its own that is killed, or waits, at a point on the way.

Run with: the point, ``kill`` or ``wait``, and the words of the command.  One that waits says
``waits`` on standard output, and goes on when its standard input ends.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from cs.cli.app import main
from cs.projections import rebuild
from cs.projections.rebuild import ViewRebuild
from cs.projections.views import Views

#: Small, so that there are some of them.
PAGE = 10


class Stop:
    def __init__(self, act: str) -> None:
        self._act = act

    def __call__(self) -> None:
        if self._act == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        os.write(1, b"waits\n")
        sys.stdin.read()


def before(owner: Any, name: str, stop: Callable[[], None], number: int = 1) -> None:
    """Stop when *name* of *owner*, a coroutine, is called for the *number*-th time.

    The process goes on with the rest meanwhile, as one that takes long does: its lease is
    renewed.
    """
    done, calls = getattr(owner, name), count(1)

    async def stopping(*args: Any, **named: Any) -> Any:
        if next(calls) == number:
            await asyncio.to_thread(stop)
        return await done(*args, **named)

    setattr(owner, name, stopping)


#: At which point, and whether the rows have changed places by then.
POINTS: dict[str, tuple[Callable[[Callable[[], None]], None], bool]] = {
    "made": (lambda stop: before(ViewRebuild, "_compare", stop), False),
    "before the exchange": (lambda stop: before(Views, "take_over", stop), False),
    "exchanged": (lambda stop: before(Views, "drop_shadows", stop, 2), True),
}

if __name__ == "__main__":
    point, act, *words = sys.argv[1:]
    rebuild.PAGE = PAGE
    POINTS[point][0](Stop(act))
    main(words)
