"""Files of views from before each generation had tables of its own, opened and continued."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contracts.view_generations import upgraded
from contracts.views import History
from cs.projections.catalogue import projections
from cs.projections.sqlite.views import RETIRE_EVERY_S, SqliteViews
from projections.history import write
from projections.stored import table_of

TABLES = ("searches", "results", "usage", "brands", "returned", "aside")
#: Projections that have come since.
SINCE = {"costs"}
#: Of today's versions, as that version put them together: ``searches3_..._aside1``.
GENERATION = "_".join(
    [
        *(f"{each.name}{each.version}" for each in projections() if each.name not in SINCE),
        "aside1",
    ]
)


@pytest.fixture
async def history() -> History:
    history = History()
    await write(history.log)
    return history


async def older_file(path: Path, history: History, generation: str = GENERATION) -> None:
    """Make the file that a version of before left: its tables, its statements."""
    views = SqliteViews(path, projections())
    await history.runner(views).catch_up()
    position, last_event = await views.position(), await views.last_event()
    await views.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE IF NOT EXISTS checkpoint (generation TEXT NOT NULL, "
            "position INTEGER NOT NULL, last_event TEXT NOT NULL)"
        )
        values = (generation, position, last_event)
        database.execute("INSERT INTO checkpoint VALUES (?, ?, ?)", values)
        for table in TABLES:
            database.execute(
                f"CREATE TABLE IF NOT EXISTS {table} "
                "(id TEXT PRIMARY KEY, tag TEXT, row BLOB NOT NULL) WITHOUT ROWID"
            )
            database.execute(
                f"CREATE INDEX IF NOT EXISTS {table}_tag ON {table} (tag) WHERE tag IS NOT NULL"
            )
            database.execute(f"INSERT INTO {table} SELECT * FROM {table_of(table)}")
            database.execute(f"DROP TABLE {table_of(table)}")
        for table in SINCE:
            database.execute(f"DROP TABLE {table_of(table)}")
        database.execute("DROP TABLE view_sets")
        database.execute("DROP TABLE view_copies")
        database.execute("DROP TABLE view_editions")


def tables_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in found}


async def test_an_older_file_is_continued_and_only_what_it_lacks_is_made(
    tmp_path: Path, history: History
) -> None:
    path = tmp_path / "views.db"
    await older_file(path, history)
    versions = upgraded()
    views = SqliteViews(path, versions)

    await history.runner(views).catch_up()

    assert await history.rows(views) == await history.replayed()
    assert {each.name for each in versions if each.applied} == SINCE
    await views.close()


async def test_of_an_older_file_of_other_versions_only_what_changed_is_made_anew(
    tmp_path: Path, history: History
) -> None:
    path = tmp_path / "views.db"
    await older_file(path, history, GENERATION.replace("brands", "brands0"))
    versions = upgraded()
    views = SqliteViews(path, versions)

    await history.runner(views).catch_up()

    assert await history.rows(views) == await history.replayed()
    assert {each.name for each in versions if each.applied} == {"brands", *SINCE}
    await views.close()


async def test_tables_of_before_stay_for_a_process_of_before_as_long_as_they_move(
    tmp_path: Path, history: History
) -> None:
    path = tmp_path / "views.db"
    await older_file(path, history)
    with closing(sqlite3.connect(path)) as before:
        rows = before.execute("SELECT * FROM searches ORDER BY id").fetchall()
        views = SqliteViews(path, projections(), grace_s=3600)
        await history.runner(views).catch_up()
        assert before.execute("SELECT * FROM searches ORDER BY id").fetchall() == rows
        await views.close()

        _age(path)
        with before:
            before.execute("UPDATE checkpoint SET position = position + 1")
    views = SqliteViews(path, projections(), grace_s=3600)
    await views.retire()
    assert tables_in(path) >= {*TABLES, "checkpoint"}
    await views.close()

    _age(path)
    views = SqliteViews(path, projections(), grace_s=3600)
    await views.retire()

    assert not tables_in(path) & {*TABLES, "checkpoint"}
    assert await history.rows(views) == await history.replayed()
    await views.close()


async def test_tables_of_before_that_move_while_this_process_runs_stay(
    tmp_path: Path, history: History
) -> None:
    path = tmp_path / "views.db"
    await older_file(path, history)
    seconds = iter(range(0, 10 * int(RETIRE_EVERY_S), int(RETIRE_EVERY_S)))
    views = SqliteViews(path, projections(), grace_s=3600, monotonic=lambda: next(seconds))
    await history.runner(views).catch_up()
    _age(path)
    with closing(sqlite3.connect(path)) as before, before:
        before.execute("UPDATE checkpoint SET position = position + 1")

    await views.retire()
    assert tables_in(path) >= {*TABLES, "checkpoint"}
    _age(path)
    await views.retire()

    assert not tables_in(path) & {*TABLES, "checkpoint"}
    await views.close()


async def test_tables_of_another_version_go_when_nobody_used_them_for_the_grace(
    tmp_path: Path, history: History
) -> None:
    path = tmp_path / "views.db"
    old = SqliteViews(path, upgraded("usage"))
    await history.runner(old).catch_up()
    await old.close()
    new = SqliteViews(path, projections(), grace_s=3600)
    await history.runner(new).catch_up()
    both = tables_in(path)
    await new.retire()
    assert tables_in(path) == both

    _age(path)
    later = SqliteViews(path, projections(), grace_s=3600)
    await later.retire()

    own = {table_of(name) for name in (*TABLES, *SINCE)}
    assert tables_in(path) == {*own, "view_sets", "view_copies", "view_editions"}
    assert await history.rows(later) == await history.replayed()
    for views in (new, later):
        await views.close()


def _age(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE view_sets SET used_at = used_at - 7200")
