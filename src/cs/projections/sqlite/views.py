"""Views in a SQLite file, for one process, written and read in threads.

A single row is read on the event loop while no thread holds the file.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from structlog import get_logger

from cs.eventlog.port import RecordedEvent
from cs.projections.generation import GRACE_S, CopiedRows, Generation
from cs.projections.port import Changed, check_since
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Table
from cs.projections.set_aside import TakeUp
from cs.projections.sqlite.store import ViewStore
from cs.runtime.broadcast import Broadcast

log = get_logger()

R = TypeVar("R", bound=msgspec.Struct)

#: How long a move is waited for that another process may make.
_LOOK_S = 1.0
#: How often tables are looked for that nobody uses.
RETIRE_EVERY_S = 600.0


class SqliteViews:
    """`cs.projections.port.Views` on the file *path*, in memory without one.

    Args:
        name: Of tables that are made anew beside the running ones.
        grace_s: How long tables of another generation stay that nobody uses.

    Raises:
        sqlite3.OperationalError: The file is in use, or the disk is full.  One that is damaged
            is made anew.
    """

    def __init__(
        self,
        path: Path | None,
        projections: Sequence[Projection],
        *,
        name: str | None = None,
        grace_s: float = GRACE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = ViewStore(path, projections, name)
        self._grace_s = grace_s
        self._monotonic = monotonic
        self._retired_at: float | None = None
        self._moved = Broadcast()

    async def position(self) -> int:
        return await asyncio.to_thread(self.store.position)

    async def last_event(self) -> str:
        return await asyncio.to_thread(self.store.last_event)

    async def edition(self) -> int:
        return await asyncio.to_thread(self.store.edition)

    async def moved(self, after: int) -> int:
        moved = self._moved.upcoming()
        position = await self.position()
        if position > after:
            return position
        try:
            async with asyncio.timeout(_LOOK_S):
                await moved.wait()
        except TimeoutError:
            pass
        return await self.position()

    async def apply(
        self, page: Sequence[RecordedEvent], seal: SealBody, epoch: int | None = None
    ) -> int:
        del epoch  # one process: nobody to be fenced
        position = await asyncio.to_thread(self.store.apply, page, seal)
        self._moved.notify_all()
        return position

    async def take_up(self, late: TakeUp, seal: SealBody, epoch: int | None = None) -> bool:
        del epoch
        return await asyncio.to_thread(self.store.take_up, late, seal)

    async def ahead(self, newer: Sequence[RecordedEvent], seal: SealBody) -> Changed:
        return await asyncio.to_thread(self.store.ahead, newer, seal)

    async def get(self, table: Table[R], row_id: str, since: int = 0) -> R | None:
        position, row = await self.get_at(table, row_id)
        check_since(position, since)
        return row

    async def get_at(self, table: Table[R], row_id: str) -> tuple[int, R | None]:
        await asyncio.sleep(0)  # a caller that reads in a loop lets others run
        if self.store.is_free:  # a thread would cost ten times what SQLite takes for a row
            return self.store.get_at(table, row_id)
        return await asyncio.to_thread(self.store.get_at, table, row_id)

    async def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        return await asyncio.to_thread(self.store.tagged, table, tag, since)

    async def ids_tagged(
        self,
        table: Table[R],
        tags: Collection[str],
        since: int = 0,
        *,
        limit: int | None = None,
    ) -> list[tuple[str, str]]:
        return await asyncio.to_thread(self.store.ids_tagged, table, tuple(tags), since, limit)

    async def tags(
        self, table: Table[R], after: str, limit: int, since: int = 0
    ) -> list[tuple[str, str]]:
        return await asyncio.to_thread(self.store.tags, table, after, limit, since)

    async def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        return await asyncio.to_thread(self.store.all, table, since)

    async def reset(self) -> None:
        await asyncio.to_thread(self.store.reset)

    async def others(self) -> Sequence[Generation]:
        return await asyncio.to_thread(self.store.others)

    async def copy_from(self, other: Generation, epoch: int | None = None) -> CopiedRows:
        del epoch
        return await asyncio.to_thread(self.store.copy_from, other)

    async def copies(self) -> CopiedRows:
        return await asyncio.to_thread(self.store.copies)

    async def retire(self) -> None:
        now = self._monotonic()
        if self._retired_at is not None and now - self._retired_at < RETIRE_EVERY_S:
            return
        self._retired_at = now
        for retired in await asyncio.to_thread(self.store.retire, self._grace_s):
            log.info("views_retired", generation=retired)

    async def close(self) -> None:
        await asyncio.to_thread(self.store.close)
