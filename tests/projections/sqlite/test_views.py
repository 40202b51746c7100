"""Views in a SQLite file keep the contract."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from contracts.view_generations import Opened, ViewGenerationsContract, upgraded
from contracts.views import History, ViewsContract
from cs.projections.catalogue import projections
from cs.projections.generation import generation, table_prefix
from cs.projections.port import Views
from cs.projections.projection import Projection
from cs.projections.sqlite.views import SqliteViews
from projections.history import write


class TestSqliteViews(ViewsContract):
    @pytest.fixture(params=["file", "memory"])
    async def views(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> AsyncIterator[SqliteViews]:
        path = tmp_path / "views.db" if request.param == "file" else None
        views = SqliteViews(path, projections())
        yield views
        await views.close()


async def test_damaged_pages_of_another_version_are_not_copied(tmp_path: Path) -> None:
    history = History()
    await write(history.log)
    file = tmp_path / "views.db"
    old = SqliteViews(file, projections())
    await history.runner(old).catch_up()
    await old.close()
    spoil(file, table_prefix(generation(projections())) + "_returned")
    new = SqliteViews(file, upgraded("usage"))

    await history.runner(new).catch_up()

    assert await history.rows(new) == await history.replayed()
    await new.close()


def spoil(file: Path, table: str) -> None:
    """Overwrite the first page of *table*."""
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((root,),) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)
        )
        ((size,),) = database.execute("PRAGMA page_size")
    with file.open("r+b") as pages:
        pages.seek((root - 1) * size)
        pages.write(b"\xee" * size)


class TestGenerationsInAFile(ViewGenerationsContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        @asynccontextmanager
        async def opened(versions: Sequence[Projection]) -> AsyncIterator[Views]:
            views = SqliteViews(tmp_path / "views.db", versions)
            yield views
            await views.close()

        return opened
