"""Views in a SQLite file keep the contract."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contracts.view_generations import Opened, ViewGenerationsContract
from contracts.views import ViewsContract
from cs.projections.catalogue import projections
from cs.projections.port import Views
from cs.projections.projection import Projection
from cs.projections.sqlite.views import SqliteViews


class TestSqliteViews(ViewsContract):
    @pytest.fixture(params=["file", "memory"])
    async def views(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> AsyncIterator[SqliteViews]:
        path = tmp_path / "views.db" if request.param == "file" else None
        views = SqliteViews(path, projections())
        yield views
        await views.close()


class TestGenerationsInAFile(ViewGenerationsContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        @asynccontextmanager
        async def opened(versions: Sequence[Projection]) -> AsyncIterator[Views]:
            views = SqliteViews(tmp_path / "views.db", versions)
            yield views
            await views.close()

        return opened
