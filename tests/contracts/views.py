"""A history, and the rows that views have of it."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from cs.eventlog.port import RecordedEvent
from cs.projections.brands import BRANDS
from cs.projections.builds import tables_of
from cs.projections.catalogue import projections
from cs.projections.folding import sealer
from cs.projections.returned import RETURNED
from cs.projections.runner import ViewRunner
from cs.projections.search_record import open_contacts
from cs.projections.searches import RESULTS, SEARCHES, ResultRow
from cs.projections.set_aside import ASIDE
from cs.projections.source_weeks import WEEK
from cs.projections.table import Table
from cs.projections.usage import OLD_SECRETS, USAGE
from cs.projections.views import Views
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from projections.history import write
from projections.stored import table_of

EVERY: tuple[Table[Any], ...] = (
    SEARCHES,
    USAGE,
    OLD_SECRETS,
    BRANDS,
    RETURNED,
    WEEK,
    RESULTS,
    ASIDE,
)


class History:
    """A log in which everything has happened that views tell of."""

    def __init__(self) -> None:
        self.keys = MemoryKeyStore()
        self.log = MemoryEventLog(self.keys)

    @classmethod
    async def written(cls) -> Self:
        history = cls()
        await write(history.log)
        return history

    def runner(self, views: Views) -> ViewRunner:
        return ViewRunner(self.log, views, self.keys)

    async def apply(
        self, views: Views, page: list[RecordedEvent], epoch: int | None = None
    ) -> int:
        return await views.apply(page, await sealer(self.keys, page), epoch)

    async def rows(self, views: Views) -> dict[str, dict[str, Any]]:
        """Return every row of every table, sealed contacts opened."""
        return {t.name: await self._plain(dict(await views.all(t))) for t in EVERY}

    async def replayed(self) -> dict[str, dict[str, Any]]:
        """Return the rows that one event after another gives, in memory."""
        found: dict[str, dict[str, Any]] = {table.name: {} for table in EVERY}
        for recorded in await self.log.tail(0, 1_000_000):
            seal = await sealer(self.keys, [recorded])
            for table in EVERY:
                if type(recorded.event) in table.reads and (key := table.key(recorded)):
                    rows = found[table.name]
                    row = table.fold(rows.get(key), recorded)
                    if row is not None and row is not rows.get(key):
                        rows[key] = table.sealed(row, seal)
        return {table: await self._plain(rows) for table, rows in found.items()}

    async def _plain(self, rows: dict[str, Any]) -> dict[str, Any]:
        return {row_id: await self._opened(rows[row_id]) for row_id in sorted(rows)}

    async def _opened(self, row: Any) -> Any:
        if not isinstance(row, ResultRow):
            return row
        contacts = await open_contacts(self.keys, row)
        return (row.head, row.key, json.loads(contacts or b""))


async def all_rows(views: Views) -> list[Any]:
    return [row for table in EVERY for row in await views.all(table)]


def wakes_by_commits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no poll wake a reader of views in time."""
    monkeypatch.setattr("cs.projections.sqlite.LOOK_S", 60.0)
    monkeypatch.setattr("cs.projections.postgres.POLL_S", 60.0)


@contextmanager
def following(runner: ViewRunner) -> Iterator[asyncio.Task[None]]:
    """Let *runner* follow its log; it must not have ended by itself."""
    task = asyncio.create_task(runner.run())
    yield task
    assert not task.done(), task.exception()
    task.cancel()


#: The stored names of all tables of the first build.
STORED = {table.name: table_of(table.name) for table in tables_of(projections())}
