"""Views next to a log that they were not made from are noticed and rebuilt."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.command import ran
from projections.stored import table_of

pytestmark = pytest.mark.slow


def labels(folder: Path, *, noticed: bool = False) -> list[str]:
    """Return the labels of all keys, as the views have them."""
    listed = ran("keys", "list", "--json", f"--data-dir={folder}", CS_LOG_LEVEL="info")
    assert ("views_of_another_log" in listed.err) is noticed
    return sorted(row["label"] for row in listed.rows)


def with_keys(folder: Path, *names: str) -> Path:
    for name in names:
        made = ran("keys", "create", f"--label={name}", f"--data-dir={folder}")
        assert made.code == 0, made
    assert labels(folder) == sorted(names)
    return folder


def replace_log(folder: Path, other: Path) -> None:
    for name in ("log.db", "keys.db", "master.key"):
        shutil.copyfile(other / name, folder / name)


def test_views_at_the_same_position_of_another_history(tmp_path: Path) -> None:
    folder = with_keys(tmp_path / "one", "mine")
    replace_log(folder, with_keys(tmp_path / "two", "theirs"))

    assert labels(folder, noticed=True) == ["theirs"]
    assert labels(folder) == ["theirs"], "those of this log are kept"

    replace_log(folder, with_keys(tmp_path / "three", "more", "of them"))
    assert labels(folder, noticed=True) == ["more", "of them"], "they were behind it"


def test_views_without_a_checkpoint_are_rebuilt(tmp_path: Path) -> None:
    folder = with_keys(tmp_path / "one", "mine")
    with closing(sqlite3.connect(folder / "views.db")) as db, db:
        db.execute("DELETE FROM view_builds")
        db.execute(f"DELETE FROM {table_of('usage')}")

    assert labels(folder) == ["mine"]
