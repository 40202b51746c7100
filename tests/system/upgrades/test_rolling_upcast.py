"""A rolling upgrade to the second version of an event, as processes on one PostgreSQL log."""

from pathlib import Path

import pytest

from cs.postgres.pool import Pool
from postgres.migrated import migrated
from projections.stored import table_of
from system.upgrades.next_version import this_version
from system.upgrades.quota_granted import V1, V2, that_reads, that_writes
from system.upgrades.test_two_versions import running

pytestmark = pytest.mark.slow


async def topics(pool: Pool) -> list[str]:
    rows = await pool.fetch("SELECT topic FROM stored_events ORDER BY notification_id")
    return [row["topic"] for row in rows]


async def test_two_neighbouring_releases_read_and_write_beside_each_other(
    database: str, tmp_path: Path
) -> None:
    """The first reads the second version and writes the first; the second the other way."""
    reads, writes = that_reads(tmp_path / "reads"), that_writes(tmp_path / "writes")
    async with (
        migrated(database) as pool,
        running(reads, database) as old,
        running(writes, database) as new,
    ):
        await old("issue", "a")
        await old("grant", "a", 3)
        await new("grant", "a", 4)
        await old("grant", "a", -6)  # which 3 alone would not have allowed
        head = await new("grant", "a", 10)

        assert await topics(pool) == ["key.issued.v1", V1, V2, V1, V2]
        assert [await old("quota", "a"), await new("quota", "a")] == [11, 11]
        for version in (old, new):
            await version("lead", "views")
        assert [await v("reflect", head) for v in (old, new)] == [head, head]
        assert [await v("shown", "a") for v in (old, new)] == [[head, 11], [head, 11]]


async def test_views_go_over_from_one_release_to_the_next_as_they_are(
    database: str, tmp_path: Path
) -> None:
    """The event at their checkpoint is of another version to the one that takes over."""
    reads, writes = that_reads(tmp_path / "reads"), that_writes(tmp_path / "writes")
    async with migrated(database) as pool:
        async with running(reads, database) as old:
            await old("issue", "a")
            head = await old("grant", "a", 3)
            await old("lead", "views")
            await old("reflect", head)
        await pool.execute(_MARK.format(table=table_of("usage")))

        async with running(writes, database) as new:
            await new("lead", "views")
            await new("follow")
            await new("leads", "views")
            head = await new("grant", "a", 4)
            await new("reflect", head)
            assert await new("usage", "a") == 37  # made anew it would be 7


_MARK = """
UPDATE {table} SET row = convert_to(
    replace(convert_from(row, 'UTF8'), '"quota":3', '"quota":33'), 'UTF8'
)
"""


async def test_a_release_that_does_not_read_it_stands_still_and_its_successor_goes_on(
    database: str, tmp_path: Path
) -> None:
    """One release was left out: a mistake that costs time, and nothing else."""
    writes = that_writes(tmp_path / "writes")
    async with (
        migrated(database),
        running(this_version(), database) as old,
        running(writes, database) as new,
    ):
        await old("issue", "a")
        await old("issue", "b")
        await old("grant", "a", 3)
        await old("lead", "views")
        await old("reflect", 3)
        await old("follow")
        await new("grant", "a", 4)

        assert V2 in await old.refuses("grant", "a", 1)
        assert V2 in await old("held", "views")
        assert V2 in await old("held", "follower")
        assert await old("grant", "b", 5) == 5  # other streams go on
        assert await old("shown", "a") == [3, 3]

    async with running(writes, database) as successor:
        await successor("lead", "views")
        await successor("follow")
        assert await successor("reflect", 5) == 5
        assert [await successor("usage", key_id) for key_id in "ab"] == [7, 5]
