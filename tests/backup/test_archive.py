"""``cs log archive``: old events as they are stored, in files that an analyst's tools read."""

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest

from cli.command import Ran, ran
from cs.history.archive import archive
from cs.history.part_folder import ExportFailed
from harness.in_process import on_folder
from harness.stores import opened

pytestmark = pytest.mark.slow


def list_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def filled(folder: Path) -> Path:
    async with on_folder(folder) as service:
        assert (await service.search(await service.new_key(), brand="Acme")).is_success
    return folder


def archived(folder: Path, out: Path, *words: str) -> Ran:
    return ran("log", "archive", str(out), *words, "--json", f"--data-dir={folder}")


async def test_events_below_a_position_are_copied_as_they_are_stored(tmp_path: Path) -> None:
    folder, cold = await filled(tmp_path / "data"), tmp_path / "cold"

    done = archived(folder, cold, "--before=11", "--after=2")

    assert done.code == 0, done
    manifest = json.loads((cold / "manifest.json").read_text())
    assert done.rows == [manifest]
    assert (manifest["after"], manifest["upto"]) == (2, 10)
    assert (manifest["epoch"], manifest["world"]) == (1, "sandbox")
    ((name, digest),) = manifest["files"].items()
    assert sha256((cold / name).read_bytes()).hexdigest() == digest
    copied = duckdb.sql(
        f"SELECT position, stream, version, topic, state FROM '{cold / name}' ORDER BY position"
    ).fetchall()
    with closing(sqlite3.connect(folder / "log.db")) as db:
        stored = db.execute(
            "SELECT rowid, originator_id, originator_version, topic, CAST(state AS TEXT) "
            "FROM stored_events WHERE rowid BETWEEN 3 AND 10 ORDER BY rowid"
        ).fetchall()
    assert copied == stored
    assert "Ada Kern" not in repr(copied)


async def test_an_event_that_differs_from_its_copy_fails_the_archive(tmp_path: Path) -> None:
    folder, out = await filled(tmp_path / "data"), tmp_path / "cold"

    def altered(position: int, upto: int) -> None:
        """Alter an event when all are copied, before they are compared."""
        assert position == upto
        with closing(sqlite3.connect(folder / "log.db")) as db, db:
            db.execute("UPDATE stored_events SET state = X'7B7D' WHERE rowid = 5")

    async with opened(folder) as data:
        with pytest.raises(ExportFailed, match="is not what the log holds"):
            await archive(data.log, data.keys, 0, 10, out, progress=altered)
    assert list_of(tmp_path) == ["data"]


async def test_nothing_is_left_of_an_archive_that_is_not_whole(tmp_path: Path) -> None:
    folder = await filled(tmp_path / "data")
    there = tmp_path / "there"
    there.mkdir()

    assert "is there already" in archived(folder, there, "--before=11").error(2)
    assert "no event" in archived(folder, tmp_path / "none", "--before=9", "--after=9").error(2)
    with closing(sqlite3.connect(folder / "log.db")) as db, db:
        db.execute("DELETE FROM stored_events WHERE rowid = 5")
    assert "missing" in archived(folder, tmp_path / "cut", "--before=11").error()
    assert list_of(tmp_path) == ["data", "there"]
