"""This version and the next side by side, as processes on one PostgreSQL log."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cs.postgres.pool import Pool
from postgres.migrated import migrated
from system.upgrades.next_version import next_version, this_version

pytestmark = pytest.mark.slow

MEMBER = Path(__file__).parent / "member.py"
TESTS = MEMBER.parents[2]


class Version:
    """A process of one version."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def answer(self, *command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        return json.loads(await self.line())  # type: ignore[no-any-return]

    async def __call__(self, *command: Any) -> Any:
        answer = await self.answer(*command)
        assert "is" in answer, (command, answer)
        return answer["is"]

    async def refuses(self, *command: Any) -> str:
        """Return why it does not do *command*: a newer version wrote what it needs."""
        answer = await self.answer(*command)
        assert answer.get("error") == "NewerEvent", (command, answer)
        return str(answer["why"])

    async def line(self) -> bytes:
        assert self._process.stdout is not None
        async with asyncio.timeout(30):
            return await self._process.stdout.readline()


@asynccontextmanager
async def running(source: Path, dsn: str) -> AsyncIterator[Version]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(MEMBER),
        dsn,
        stdin=PIPE,
        stdout=PIPE,
        env=os.environ | {"PYTHONPATH": f"{source}:{TESTS}", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    try:
        version = Version(process)
        assert Path((await version.line()).decode().strip()).is_relative_to(source)
        yield version
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    return next_version(tmp_path / "next")


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with migrated(database) as pool:
        yield pool


@pytest.fixture
async def old(pool: Pool, database: str) -> AsyncIterator[Version]:
    del pool  # migrated
    async with running(this_version(), database) as version:
        yield version


@pytest.fixture
async def new(pool: Pool, database: str, newer: Path) -> AsyncIterator[Version]:
    del pool
    async with running(newer, database) as version:
        yield version


async def test_a_new_event_stops_old_deciders_on_that_stream_only(
    old: Version, new: Version, database: str, newer: Path
) -> None:
    for key_id in ("a", "b"):
        await old("issue", key_id)
    await old("grant", "a", 3)  # the old one keeps that state
    await new("lend", "a", 10)

    assert "key.lent.v1" in await old.refuses("grant", "a", 1)
    assert "upgrade" in await old.refuses("quota", "a")
    assert await old("grant", "b", 5) == 5
    assert await new("grant", "a", -12) == 6  # which 3 alone would not have allowed

    async with running(newer, database) as upgraded:
        assert await upgraded("grant", "a", 1) == 7
        assert [await upgraded("quota", key_id) for key_id in ("a", "b")] == [2, 5]


async def test_it_holds_old_views_and_the_new_ones_go_on_beside_them(
    old: Version, new: Version, database: str, newer: Path
) -> None:
    await old("issue", "a")
    await old("grant", "a", 3)
    for version in (old, new):
        await version("lead", "views")
        await version("follow")
        assert await version("usage", "a") == 3  # each from tables of its own

    await new("lend", "a", 10)
    head = await new("grant", "a", 1)

    assert "key.lent.v1" in await old("held", "views")
    assert "key.lent.v1" in await old("held", "follower")
    assert await new("reflect", head) == head
    assert await new("usage", "a") == 14
    assert await old("shown", "a") == [2, 3]  # what it has, and nothing guessed beyond
    assert "position 3" in await old.refuses("usage", "a")

    async with running(newer, database) as upgraded:
        await upgraded("follow")
        assert await upgraded("usage", "a") == 14


async def test_an_old_driver_gives_up_and_a_new_one_leads(old: Version, new: Version) -> None:
    await old("issue", "a")
    await old("lead", "views")
    await old("reflect", 1)
    await old("follow")
    await old("lead", "driver")
    await old("leads", "driver")
    await new("lead", "views")
    await new("reflect", 1)
    await new("follow")
    await new("lead", "driver")

    await new("lend", "a", 10)

    assert "key.lent.v1" in await old("held", "driver")
    await new("leads", "driver")
