"""`cs replay views` in a process of its own that is killed, or waits, at a point on the way.

Run with: the point, ``kill`` or ``wait``, and the words of the command.  One that waits says
``waits`` on standard output, and goes on when its standard input ends.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from inspect import iscoroutinefunction
from itertools import count
from typing import Any

from cs.cli.app import main
from cs.projections import replay
from cs.projections.postgres.anew import PostgresAnewViews
from cs.projections.postgres.table_sets import TableSet
from cs.projections.replay import ViewReplay
from cs.projections.sqlite.anew import SqliteAnewViews
from cs.projections.sqlite.table_sets import FileTableSet

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
    """Stop when *name* of *owner* is called for the *number*-th time.

    Where that is a coroutine the process goes on with the rest meanwhile, as one that takes
    long does: its lease is renewed.
    """
    done, calls = getattr(owner, name), count(1)

    async def stopping_awaited(*args: Any, **named: Any) -> Any:
        if next(calls) == number:
            await asyncio.to_thread(stop)
        return await done(*args, **named)

    def stopping(*args: Any, **named: Any) -> Any:
        if next(calls) == number:
            stop()
        return done(*args, **named)

    setattr(owner, name, stopping_awaited if iscoroutinefunction(done) else stopping)


def after(owner: Any, name: str, stop: Callable[[], None]) -> None:
    """Stop when *name* of *owner*, a coroutine or not, has done its work."""
    done = getattr(owner, name)

    async def stopping_later(result: Any) -> Any:
        found = await result
        stop()
        return found

    def stopping(*args: Any, **named: Any) -> Any:
        result = done(*args, **named)
        if hasattr(result, "__await__"):
            return stopping_later(result)
        stop()
        return result

    setattr(owner, name, stopping)


def both(change: Callable[..., None], one: Any, other: Any, name: str) -> Callable[..., None]:
    def apply(stop: Callable[[], None]) -> None:
        change(one, name, stop)
        change(other, name, stop)

    return apply


#: At which point, and whether the rows have changed places by then.
POINTS: dict[str, tuple[Callable[[Callable[[], None]], None], bool]] = {
    "begun": (lambda stop: before(replay, "read_past", stop), False),
    "in the third page": (lambda stop: before(replay, "read_past", stop, 3), False),
    "made": (lambda stop: before(ViewReplay, "_compare", stop), False),
    "compared": (lambda stop: after(ViewReplay, "_compare", stop), False),
    "before the exchange": (both(before, FileTableSet, TableSet, "exchange"), False),
    "in the exchange": (both(after, FileTableSet, TableSet, "exchange"), False),
    "exchanged": (both(after, SqliteAnewViews, PostgresAnewViews, "take_place"), True),
    "old rows gone": (both(after, SqliteAnewViews, PostgresAnewViews, "discard"), True),
}

if __name__ == "__main__":
    point, act, *words = sys.argv[1:]
    replay.PAGE = PAGE
    POINTS[point][0](Stop(act))
    main(words)
