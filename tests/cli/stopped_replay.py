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
from cs.projections import rebuild, views
from cs.projections.postgres import PostgresViewDatabase
from cs.projections.rebuild import ViewRebuild
from cs.projections.sqlite import SqliteViewDatabase
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


def after(owner: Any, name: str, stop: Callable[[], None], number: int = 1) -> None:
    """Stop when *name* of *owner*, a coroutine, has done its work for the *number*-th time."""
    done, calls = getattr(owner, name), count(1)

    async def stopping(*args: Any, **named: Any) -> Any:
        found = await done(*args, **named)
        if next(calls) == number:
            await asyncio.to_thread(stop)
        return found

    setattr(owner, name, stopping)


def in_the_exchange(stop: Callable[[], None]) -> None:
    """Stop when the old rows are forgotten, and the new ones do not serve yet."""
    database_run: dict[type, Any] = {}
    for database in (SqliteViewDatabase, PostgresViewDatabase):
        database_run[database] = database.run

        async def run(self: Any, work: Any, *, writing: bool = False) -> Any:
            async def watched(session: Any) -> Any:
                fetch = session.fetch

                async def fetching(statement: str, *values: object) -> Any:
                    if statement is views._SERVE:
                        stop()
                    return await fetch(statement, *values)

                session.fetch = fetching
                return await work(session)

            return await database_run[type(self)](self, watched, writing=writing)

        setattr(database, "run", run)  # noqa: B010 - as a test does


#: At which point, and whether the rows have changed places by then.
POINTS: dict[str, tuple[Callable[[Callable[[], None]], None], bool]] = {
    "begun": (lambda stop: before(rebuild, "read_past", stop), False),
    "in the third page": (lambda stop: before(rebuild, "read_past", stop, 3), False),
    "made": (lambda stop: before(ViewRebuild, "_compare", stop), False),
    "compared": (lambda stop: after(ViewRebuild, "_compare", stop), False),
    "before the exchange": (lambda stop: before(Views, "take_over", stop), False),
    "in the exchange": (in_the_exchange, False),
    "exchanged": (lambda stop: after(Views, "take_over", stop), True),
    "old rows gone": (lambda stop: after(Views, "drop_shadows", stop, 2), True),
}

if __name__ == "__main__":
    point, act, *words = sys.argv[1:]
    rebuild.PAGE = PAGE
    POINTS[point][0](Stop(act))
    main(words)
