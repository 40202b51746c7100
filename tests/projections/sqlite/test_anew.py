"""Views made anew in a file, beside those that are read from it."""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from contracts.view_replay import Place, ViewReplayContract
from cs.projections.catalogue import projections
from cs.projections.generation import TableNames
from cs.projections.sqlite.anew import SqliteAnewViews
from cs.projections.sqlite.views import SqliteViews


class TestAnewInAFile(ViewReplayContract):
    @pytest.fixture
    async def place(self, tmp_path: Path) -> AsyncIterator[Place]:
        file = tmp_path / "views.db"
        names = TableNames(projections())
        stored = {name.removeprefix(f"{names.prefix}_"): name for name in names.tables}

        async def execute(statement: str) -> None:
            with closing(sqlite3.connect(file, isolation_level=None)) as database:
                database.create_function("as_blob", 1, str.encode)
                database.create_function("as_text", 1, bytes.decode)
                said = statement.format(**stored, blob="as_blob", text="as_text")
                assert database.execute(said).rowcount

        async def tables() -> Sequence[str]:
            with closing(sqlite3.connect(file)) as database:
                found = database.execute(
                    "SELECT tbl_name FROM sqlite_master UNION SELECT generation FROM view_sets"
                )
                return [name for (name,) in found]

        made: list[SqliteAnewViews] = []

        def make() -> SqliteAnewViews:
            made.append(SqliteAnewViews(file, projections(), f"{len(made)}"))
            return made[-1]

        running = SqliteViews(file, projections())
        place = Place(running, make, execute, tables)
        await place.fill()
        yield place
        for each in made:
            await each.close()
        await running.close()
