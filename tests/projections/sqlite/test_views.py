"""Views in a SQLite file keep the contract."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.views import ViewsContract
from cs.assembly.folder_stores import projections
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
