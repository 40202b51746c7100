"""Views next to a log that they were not made from are noticed and rebuilt."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import structlog.testing

from cs.assembly.folder import open_folder
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from projections.stored import table_of


async def labels(folder: Path) -> list[str]:
    """Return the labels of all keys, by the views brought up to date."""
    async with open_folder(DataFolder(folder)) as data:
        runner = ViewRunner(data.log, data.views, data.keys)
        await runner.catch_up()
        rows = await Reading(data.log, data.views, runner, data.keys).keys()
        return sorted(row.label for _, row in rows)


async def with_keys(folder: Path, *names: str) -> Path:
    async with open_folder(DataFolder(folder)) as data:
        for name in names:
            await Operator(Streams(data.log), SystemClock()).create_key(name, 1)
    assert await labels(folder) == sorted(names)
    return folder


def replace_log(folder: Path, other: Path) -> None:
    for name in ("log.db", "keys.db", "master.key"):
        shutil.copyfile(other / name, folder / name)


async def noticed(folder: Path) -> set[str]:
    with structlog.testing.capture_logs() as said:
        await labels(folder)
    return {line["event"] for line in said}


async def test_views_at_the_same_position_of_another_history(tmp_path: Path) -> None:
    folder = await with_keys(tmp_path / "one", "mine")
    replace_log(folder, await with_keys(tmp_path / "two", "theirs"))

    assert await noticed(folder) == {"views_of_another_log"}
    assert await labels(folder) == ["theirs"]
    assert await noticed(folder) == set(), "those of this log are kept"

    replace_log(folder, await with_keys(tmp_path / "three", "more", "of them"))
    assert await labels(folder) == ["more", "of them"], "they were behind it"


async def test_views_without_a_checkpoint_are_rebuilt(tmp_path: Path) -> None:
    folder = await with_keys(tmp_path / "one", "mine")
    with closing(sqlite3.connect(folder / "views.db")) as db, db:
        db.execute("DELETE FROM view_builds")
        db.execute(f"DELETE FROM {table_of('usage')}")

    assert await labels(folder) == ["mine"]
