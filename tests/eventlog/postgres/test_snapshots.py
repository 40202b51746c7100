"""Snapshots in the log's database: the newest of a stream, written in the background."""

from collections.abc import AsyncIterator

import pytest

from contracts.event_log import units
from cs.eventlog import snapshot_writer
from cs.eventlog.port import Append
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.postgres.snapshots import PostgresSnapshots
from cs.eventlog.snapshots import EVERY, Snapshot
from cs.eventlog.streams import Streams
from cs.postgres.pool import Pool
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with migrated(database) as pool:
        yield pool


async def _stored(pool: Pool) -> list[tuple[str, int]]:
    rows = await pool.fetch(
        "SELECT originator_id, originator_version FROM snapshots ORDER BY 1"
    )
    return [tuple(row) for row in rows]


async def test_an_older_snapshot_takes_no_newer_ones_place(pool: Pool) -> None:
    """Two processes may write in any order."""
    async with PostgresSnapshots(pool) as late:
        async with PostgresSnapshots(pool) as other:
            other.submit(Snapshot("key-a", 900, "s", b"new"))
        late.submit(Snapshot("key-a", 500, "s", b"old"))

    assert await _stored(pool) == [("key-a", 900)]


async def test_two_versions_of_the_service_leave_each_other_s_snapshots_alone(
    pool: Pool,
) -> None:
    for version, shape in ((500, "s"), (900, "s"), (700, "t"), (901, "t"), (1400, "s")):
        async with PostgresSnapshots(pool) as snapshots:
            snapshots.submit(Snapshot("key-a", version, shape, shape.encode()))
            snapshots.submit(Snapshot("key-b", 1, "s", b""))

    assert await _stored(pool) == [("key-a", 901), ("key-a", 1400), ("key-b", 1)]
    async with PostgresSnapshots(pool) as snapshots:
        for version, shape in ((901, "t"), (1400, "s")):
            mine = Snapshot("key-a", version, shape, shape.encode())
            assert await snapshots.find("key-a", shape) == mine
        assert await snapshots.find("key-a", "u") is None


async def test_of_the_shapes_of_others_only_the_newest_stays(pool: Pool) -> None:
    for version, shape in ((500, "old"), (900, "before"), (1000, "now")):
        async with PostgresSnapshots(pool) as snapshots:
            snapshots.submit(Snapshot("key-a", version, shape, b""))

    assert await _stored(pool) == [("key-a", 900), ("key-a", 1000)]


async def test_a_version_that_another_shape_has_is_not_taken_from_it(pool: Pool) -> None:
    async with PostgresSnapshots(pool) as snapshots:
        snapshots.submit(Snapshot("key-a", 500, "s", b"s"))
    async with PostgresSnapshots(pool) as snapshots:
        snapshots.submit(Snapshot("key-a", 500, "t", b"t"))

    async with PostgresSnapshots(pool) as snapshots:
        assert await snapshots.find("key-a", "s") == Snapshot("key-a", 500, "s", b"s")
        assert await snapshots.find("key-a", "t") is None


async def test_more_than_a_bounded_number_never_waits_to_be_written(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_writer, "WAITING", 2)
    async with PostgresSnapshots(pool) as snapshots:
        for stream in "abc":
            snapshots.submit(Snapshot(f"key-{stream}", 500, "s", b""))
        snapshots.submit(Snapshot("key-a", 1000, "s", b""))

    assert await _stored(pool) == [("key-a", 1000), ("key-b", 500)]


async def test_what_is_offered_is_found_at_once(pool: Pool) -> None:
    snapshot = Snapshot("key-a", 500, "s", b"{}")
    async with PostgresSnapshots(pool) as snapshots:
        snapshots.submit(snapshot)
        assert await snapshots.find("key-a", "s") == snapshot

    async with PostgresSnapshots(pool) as snapshots:
        assert await snapshots.find("key-a", "s") == snapshot
        assert await snapshots.find("key-b", "s") is None


async def test_a_table_that_cannot_be_used_costs_the_snapshots_of_that_moment_and_no_more(
    pool: Pool,
) -> None:
    async with PostgresSnapshots(pool) as snapshots:
        await pool.execute("ALTER TABLE snapshots RENAME TO away")
        snapshots.submit(Snapshot("key-a", 500, "s", b""))
        assert await snapshots.find("key-b", "s") is None
    await pool.execute("ALTER TABLE away RENAME TO snapshots")
    assert await _stored(pool) == []

    async with PostgresSnapshots(pool) as snapshots:
        snapshots.submit(Snapshot("key-b", 500, "s", b""))
    assert await _stored(pool) == [("key-b", 500)]


async def test_a_closed_store_takes_no_more(pool: Pool) -> None:
    async with PostgresSnapshots(pool) as snapshots:
        pass
    snapshots.submit(Snapshot("key-a", 500, "s", b""))

    assert await _stored(pool) == []


async def test_a_key_s_state_is_written_down_and_gone_on_from(pool: Pool) -> None:
    async with PostgresEventLog(pool, MemoryKeyStore()) as log:
        await log.append([Append("key-a", -1, units(*[1] * EVERY))])
        async with PostgresSnapshots(pool) as snapshots:
            first = await Streams(log, snapshots).key("a")
        await log.append([Append("key-a", EVERY - 1, units(7))])

        assert await _stored(pool) == [("key-a", EVERY - 1)]
        async with PostgresSnapshots(pool) as snapshots:
            later = await Streams(log, snapshots).key("a")

    assert (first.version, later.version, later.snapshot) == (EVERY - 1, EVERY, EVERY - 1)
    assert later.state.quota == first.state.quota + 7
