"""Views in a SQLite file keep the contracts."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from contracts.view_rebuild import Place, ViewRebuildContract, ViewVersionsContract
from contracts.views import ViewsContract
from cs.projections.builds import tables_of
from cs.projections.catalogue import projections
from cs.projections.sqlite import sqlite_views
from cs.projections.table import Projection
from cs.projections.views import GRACE_S, Views
from projections.stored import table_of

STORED = {table.name: table_of(table.name) for table in tables_of(projections())}


class TestSqliteViews(ViewsContract):
    @pytest.fixture(params=["file", "memory"])
    async def views(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> AsyncIterator[Views]:
        path = tmp_path / "views.db" if request.param == "file" else None
        views = sqlite_views(path, projections())
        yield views
        await views.close()


class TestBuildsInAFile(ViewRebuildContract, ViewVersionsContract):
    @pytest.fixture
    async def place(self, tmp_path: Path) -> AsyncIterator[Place]:
        file = tmp_path / "views.db"

        async def execute(statement: str) -> None:
            with closing(sqlite3.connect(file, isolation_level=None)) as database:
                database.create_function("as_blob", 1, str.encode)
                database.create_function("as_text", 1, bytes.decode)
                words = {"blob": "as_blob", "text": "as_text"}
                assert database.execute(statement.format(**STORED, **words)).rowcount

        async def tables() -> Sequence[str]:
            with closing(sqlite3.connect(file)) as database:
                found = database.execute("SELECT tbl_name FROM sqlite_master ORDER BY 1")
                return [name for (name,) in found]

        @asynccontextmanager
        async def opened(
            versions: Sequence[Projection] = projections(), *, grace_s: float = GRACE_S
        ) -> AsyncIterator[Views]:
            views = sqlite_views(file, versions, grace_s=grace_s)
            yield views
            await views.close()

        async with opened() as running:
            place = Place(running, execute, tables, opened)
            await place.fill()
            yield place
