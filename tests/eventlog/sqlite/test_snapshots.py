"""Snapshots in the log's file: the newest of a stream, written in the background."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cs.eventlog import snapshot_writer
from cs.eventlog.snapshots import Snapshot
from cs.eventlog.sqlite import snapshots as sqlite_snapshots
from cs.eventlog.sqlite.snapshots import SqliteSnapshots


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def _stored(path: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(path)) as log:
        return log.execute("SELECT originator_id, originator_version FROM snapshots").fetchall()


async def test_an_older_snapshot_takes_no_newer_ones_place(path: Path) -> None:
    """Two processes may write in any order."""
    async with SqliteSnapshots(path) as late:
        async with SqliteSnapshots(path) as other:
            other.submit(Snapshot("key-a", 900, "s", b"new"))
        late.submit(Snapshot("key-a", 500, "s", b"old"))

    assert _stored(path) == [("key-a", 900)]


async def test_two_versions_of_the_service_leave_each_other_s_snapshots_alone(
    path: Path,
) -> None:
    for version, shape in ((500, "s"), (900, "s"), (700, "t"), (901, "t"), (1400, "s")):
        async with SqliteSnapshots(path) as snapshots:
            snapshots.submit(Snapshot("key-a", version, shape, shape.encode()))

    assert sorted(_stored(path)) == [("key-a", 901), ("key-a", 1400)]
    async with SqliteSnapshots(path) as snapshots:
        for version, shape in ((901, "t"), (1400, "s")):
            mine = Snapshot("key-a", version, shape, shape.encode())
            assert await snapshots.find("key-a", shape) == mine
        assert await snapshots.find("key-a", "u") is None


async def test_of_the_shapes_of_others_only_the_newest_stays(path: Path) -> None:
    for version, shape in ((500, "old"), (900, "before"), (1000, "now")):
        async with SqliteSnapshots(path) as snapshots:
            snapshots.submit(Snapshot("key-a", version, shape, b""))

    assert sorted(_stored(path)) == [("key-a", 900), ("key-a", 1000)]


async def test_a_version_that_another_shape_has_is_not_taken_from_it(path: Path) -> None:
    for shape in ("s", "t"):
        async with SqliteSnapshots(path) as snapshots:
            snapshots.submit(Snapshot("key-a", 500, shape, shape.encode()))

    async with SqliteSnapshots(path) as snapshots:
        assert await snapshots.find("key-a", "s") == Snapshot("key-a", 500, "s", b"s")
        assert await snapshots.find("key-a", "t") is None


async def test_more_than_a_bounded_number_never_waits_to_be_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_writer, "WAITING", 2)
    async with SqliteSnapshots(path) as snapshots:
        for stream in "abc":
            snapshots.submit(Snapshot(f"key-{stream}", 500, "s", b""))
        snapshots.submit(Snapshot("key-a", 1000, "s", b""))

    assert _stored(path) == [("key-a", 1000), ("key-b", 500)]


async def test_what_is_offered_is_found_at_once(path: Path) -> None:
    snapshot = Snapshot("key-a", 500, "s", b"{}")
    async with SqliteSnapshots(path) as snapshots:
        snapshots.submit(snapshot)
        assert await snapshots.find("key-a", "s") == snapshot

    async with SqliteSnapshots(path) as snapshots:
        assert await snapshots.find("key-a", "s") == snapshot
        assert await snapshots.find("key-b", "s") is None


@pytest.mark.slow
async def test_a_locked_file_costs_the_snapshots_of_that_moment_and_no_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_snapshots, "LOCK_TIMEOUT_S", 0)
    async with SqliteSnapshots(path):
        pass
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    async with SqliteSnapshots(path) as snapshots:
        snapshots.submit(Snapshot("key-a", 500, "s", b""))
    other.execute("ROLLBACK")
    other.close()
    assert _stored(path) == []

    async with SqliteSnapshots(path) as snapshots:
        snapshots.submit(Snapshot("key-b", 500, "s", b""))
    assert _stored(path) == [("key-b", 500)]


async def test_a_closed_store_takes_no_more(path: Path) -> None:
    async with SqliteSnapshots(path) as snapshots:
        pass
    snapshots.submit(Snapshot("key-a", 500, "s", b""))

    assert _stored(path) == []
