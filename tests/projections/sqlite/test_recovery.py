"""Of a damaged file of views what is damaged is made anew, and nothing else."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from contracts.view_generations import upgraded
from contracts.views import History
from cs.eventlog.errors import LogUnavailable
from cs.projections.generation import TableNames
from cs.projections.projection import Projection
from cs.projections.searches import SEARCHES
from cs.projections.sqlite.views import SqliteViews
from cs.projections.usage import USAGE
from projections.history import write

OURS = upgraded()
OTHER = upgraded("usage")
THIRD = upgraded("brands")


@pytest.fixture
async def history() -> History:
    history = History()
    await write(history.log)
    return history


@pytest.fixture
async def file(tmp_path: Path, history: History) -> Path:
    """Return a file with three generations, each up to date."""
    path = tmp_path / "views.db"
    for versions in (OTHER, THIRD, OURS):
        views = SqliteViews(path, versions)
        await history.runner(views).catch_up()
        await views.close()
    return path


def spoil_row(file: Path, versions: Sequence[Projection]) -> None:
    table = TableNames(versions).table("usage")
    with closing(sqlite3.connect(file)) as database, database:
        assert database.execute(f"UPDATE {table} SET row = 'noise'").rowcount


def spoil_page(file: Path, versions: Sequence[Projection], what: str = "usage") -> None:
    """Overwrite the first page of a table or index of the generation of *versions*."""
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ((root,),) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?",
            (TableNames(versions).table(what),),
        )
        ((size,),) = database.execute("PRAGMA page_size")
    with file.open("r+b") as pages:
        pages.seek((root - 1) * size)
        pages.write(b"\xee" * size)


async def read_all(history: History, views: SqliteViews) -> None:
    """Read every row, and some by way of the index of tags."""
    await history.rows(views)
    await views.tagged(SEARCHES, "running")


async def assert_up_to_date(
    file: Path, versions: Sequence[Projection], history: History
) -> None:
    views = SqliteViews(file, versions)
    assert await views.position() == await history.log.head(), "nothing is made anew"
    assert await history.rows(views) == await history.replayed()
    await views.close()


async def test_a_damaged_row_empties_views_of_its_version_only(
    file: Path, history: History
) -> None:
    spoil_row(file, OURS)
    views = SqliteViews(file, OURS)

    for _ in range(2):
        with pytest.raises(LogUnavailable, match="were damaged; they are made anew"):
            await views.get(USAGE, "one")
    await views.apply([], lambda _, body: body)
    assert await views.position() == 0
    await assert_up_to_date(file, OTHER, history)
    await history.runner(views).catch_up()

    assert await history.rows(views) == await history.replayed()
    await views.close()


@pytest.mark.parametrize("what", ["usage", "searches", "searches_tag"])
async def test_damaged_pages_leave_sound_views_of_other_versions(
    file: Path, history: History, what: str
) -> None:
    spoil_page(file, OURS, what)
    spoil_page(file, THIRD)
    views = SqliteViews(file, OURS)

    with pytest.raises(LogUnavailable, match="were damaged; they are made anew"):
        await read_all(history, views)

    await views.close()
    await assert_up_to_date(file, OTHER, history)
    names = {path.name for path in file.parent.iterdir()}
    assert names <= {"views.db", "views.db-wal", "views.db-shm"}
    again = SqliteViews(file, THIRD)
    await history.runner(again).catch_up()
    assert await history.rows(again) == await history.replayed()
    await again.close()


async def test_damaged_pages_of_another_version_cost_ours_nothing(
    file: Path, history: History
) -> None:
    spoil_page(file, OTHER)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("UPDATE view_sets SET used_at = used_at - 7200")
    views = SqliteViews(file, OURS, grace_s=3600, monotonic=iter(range(0, 9000, 900)).__next__)

    with pytest.raises(LogUnavailable, match="was damaged, and is mended"):
        await views.retire()
    await views.retire()

    assert await views.position() == await history.log.head()
    assert await history.rows(views) == await history.replayed()
    assert await views.others() == []
    await views.close()
    await assert_up_to_date(file, OURS, history)


async def test_a_file_that_is_none_is_made_anew_when_it_is_opened(
    tmp_path: Path, history: History
) -> None:
    path = tmp_path / "views.db"
    path.write_bytes(b"noise" * 1000)

    views = SqliteViews(path, OURS)
    await history.runner(views).catch_up()

    assert await history.rows(views) == await history.replayed()
    await views.close()
