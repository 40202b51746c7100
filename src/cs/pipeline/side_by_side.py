"""Work with many streams at once, where one that cannot be read is set aside alone."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from cs.eventlog.damage import DamagedStreams
from cs.eventlog.errors import DamagedEvent

T = TypeVar("T")

#: Lookups and mail domains that something is done for at the same time.
AT_ONCE = 64


async def do_side_by_side(
    work: Callable[[T], Awaitable[None]], items: Iterable[T], set_aside: DamagedStreams
) -> None:
    """Do *work* with each of *items*, `AT_ONCE` at a time; each is set aside alone."""
    left = iter(items)

    async def take() -> None:
        for item in left:
            await do_or_set_aside(work(item), set_aside)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(take())


async def do_or_set_aside(work: Awaitable[None], set_aside: DamagedStreams) -> None:
    """Do *work*; a stream that cannot be read for it is left for when it is mended."""
    try:
        await work
    except DamagedEvent as damaged:
        set_aside.note(damaged)
