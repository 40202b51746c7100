"""Views made anew in the file of the running ones (`cs.projections.anew`)."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.projections.anew import StoredRow
from cs.projections.generation import anew_name, generation
from cs.projections.projection import Projection, SealBody
from cs.projections.sqlite.store import ViewStore, rows_page
from cs.projections.sqlite.table_sets import FileTableSet
from cs.projections.sqlite.views import SqliteViews
from cs.sqlite.database import connect


class SqliteAnewViews:
    """Made in the file at *path*; *nonce* tells them from others made there."""

    def __init__(self, path: Path, projections: Sequence[Projection], nonce: str) -> None:
        self._path = path
        self._projections = projections
        self._running = FileTableSet(projections)
        name = anew_name(generation(projections), nonce)
        self.views = SqliteViews(path, projections, name=name)
        self._name = name

    async def close(self) -> None:
        await self.views.close()

    async def clear(self) -> None:
        for name in await asyncio.to_thread(self.views.store.anew_beside, self._running):
            if name != self._name:
                await asyncio.to_thread(self._drop, name)

    def _drop(self, name: str) -> None:
        store = ViewStore(self._path, self._projections, name)
        try:
            store.drop()
        finally:
            store.close()

    async def check_rights(self) -> None:
        """Pass: whoever may use the file may use all that is in it."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["_RowsInFile"]:
        try:
            database = await asyncio.to_thread(self._snapshot)
        except sqlite3.Error as error:
            raise LogUnavailable(f"the views cannot be read: {error}") from error
        try:
            position, _ = self._running.checkpoint(database)
            yield _RowsInFile(database, self._running, position)
        finally:
            await asyncio.to_thread(database.close)

    def _snapshot(self) -> sqlite3.Connection:
        database = connect(self._path, synchronous="NORMAL")
        database.execute("BEGIN")  # what it reads stays what it was at its first statement
        self._running.checkpoint(database)
        return database

    async def page(self, table: str, after: str, limit: int) -> Sequence[StoredRow]:
        return await asyncio.to_thread(self.views.store.page_of, table, after, limit)

    async def take_place(self, page: Sequence[RecordedEvent], seal: SealBody) -> bool:
        store = self.views.store
        return await asyncio.to_thread(store.take_place, self._running, page, seal)

    async def discard(self) -> None:
        await asyncio.to_thread(self.views.store.drop)


class _RowsInFile:
    """Rows as a transaction sees them (`cs.projections.anew.RowsAt`)."""

    def __init__(
        self, database: sqlite3.Connection, tables: FileTableSet, position: int
    ) -> None:
        self._database = database
        self._tables = tables
        self.position = position

    async def page(self, table: str, after: str, limit: int) -> Sequence[StoredRow]:
        stored_as = self._tables.names.table(table)
        try:
            return await asyncio.to_thread(rows_page, self._database, stored_as, after, limit)
        except sqlite3.Error as error:
            raise LogUnavailable(f"the views cannot be read: {error}") from error
