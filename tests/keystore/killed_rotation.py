"""Changes the master key in a process of its own, which is killed at a point on the way.

Run with: the point, the data folder, and for databases the DSN of the keys, the file of the
master key and that of the next one.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

from cs.assembly.master_key import change
from cs.keystore.store import StoredKeys
from cs.keystore.wrapping import Wrapping
from cs.settings import Settings

#: Of each store that is rotated here: three batches.
KEYS = 1_200


def die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_at_wrap(number: int) -> None:
    wrapped, wraps = Wrapping.wrapped, count(1)

    def dying(self: Wrapping, *args: Any, **named: Any) -> bytes:
        if next(wraps) == number:
            die()
        return wrapped(self, *args, **named)

    Wrapping.wrapped = dying  # type: ignore[method-assign]


def _die_after(method: str) -> None:
    setattr(StoredKeys, method, _then_dying(getattr(StoredKeys, method)))


def _then_dying(done: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def dying(*args: Any) -> None:
        await done(*args)
        die()

    return dying


def _die_before_it_is_in_place() -> None:
    Path.replace = die  # type: ignore[method-assign, assignment]


POINTS: dict[str, Callable[[], None]] = {
    "begun": lambda: _die_after("begin_rotation"),
    "in the second batch": lambda: _die_at_wrap(700),
    "after a batch": lambda: _die_after("rewrap"),
    "in the secrets": lambda: _die_at_wrap(KEYS + 2),
    "all wrapped": lambda: _die_after("end_rotation"),
    "not in place": _die_before_it_is_in_place,
}


def settings(folder: str, dsn: str = "", master: str = "", following: str = "") -> Settings:
    if not dsn:
        return Settings(data_dir=Path(folder))
    return Settings(
        data_dir=Path(folder),
        postgres=dsn,
        keys_postgres=dsn,
        master_key_file=Path(master),
        next_master_key_file=Path(following),
    )


if __name__ == "__main__":
    point, *where = sys.argv[1:]
    POINTS[point]()
    asyncio.run(change(settings(*where), lambda *_: None))
