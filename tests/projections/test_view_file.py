"""Views in a file that is damaged or full: the log has it all."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from contracts.views import following
from cs.eventlog.port import NO_STREAM, Append, LogUnavailable, RecordedEvent
from domain.golden_files import golden_event
from harness.memory_keys import MemoryKeyStore
from harness.places import log_in, runner_of, views_in

pytestmark = pytest.mark.slow

PAGE = 4096


class RunningViews:
    """A log of 300 keys, and views of it that follow it."""

    def __init__(self, log: Any, views: Any) -> None:
        self.log = log
        self.views = views
        self.runner = runner_of(log, views, MemoryKeyStore())
        self.db = views._database.db

    async def quotas(self) -> dict[str, int]:
        usage = next(each for each in self.views._tables if each.name == "usage")
        return {key: row.quota for key, row in await self.views.all(usage)}


@asynccontextmanager
async def followed(folder: Path) -> AsyncIterator[RunningViews]:
    async with log_in(folder, MemoryKeyStore()) as log:
        if await log.head() == 0:
            issued = golden_event("key.issued.v1")
            await log.append([Append(f"key-{n}", NO_STREAM, [issued]) for n in range(300)])
        views = views_in(folder)
        try:
            here = RunningViews(log, views)
            await here.runner.catch_up()
            yield here
        finally:
            await views.close()


async def test_views_of_which_a_page_is_scribbled_on_end_up_whole(tmp_path: Path) -> None:
    async with followed(tmp_path) as before:
        quotas = await before.quotas()
    damaged = 0
    file, noise = tmp_path / "views.db", Random(7)
    whole = file.read_bytes()
    for at in range(0, len(whole), PAGE):
        file.write_bytes(whole[:at] + noise.randbytes(PAGE) + whole[at + PAGE :])
        starts = 0
        while starts := starts + 1:  # as a supervisor starts a service again
            try:
                async with followed(tmp_path) as after:
                    assert await after.quotas() == quotas
            except LogUnavailable:
                damaged += 1
                assert starts == 1, "the second start has whole views"
            else:
                break
    assert damaged > 10


async def test_damaged_views_are_rebuilt_while_the_service_runs(tmp_path: Path) -> None:
    async with followed(tmp_path):
        pass
    async with followed(tmp_path) as here:
        quotas = await here.quotas()
        with (tmp_path / "views.db").open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(4 * PAGE)
            file.write(os.urandom(size - 4 * PAGE))
        here.db.execute("PRAGMA shrink_memory")

        with pytest.raises(LogUnavailable, match="views were damaged; they are rebuilt"):
            await here.quotas()

        with following(here.runner):
            await here.log.append([Append("key-x", NO_STREAM, [golden_event("key.issued.v1")])])
            async with asyncio.timeout(10):
                await here.runner.reached(301)
        assert await here.quotas() == quotas | {"x": quotas["0"]}


async def test_views_on_a_full_disk_are_reported_and_go_on(tmp_path: Path) -> None:
    async with followed(tmp_path) as here:
        issued = golden_event("key.issued.v1")
        page = [RecordedEvent(301 + n, f"key-{300 + n}", 0, issued) for n in range(1000)]
        limit = here.db.execute("PRAGMA page_count").fetchone()[0]
        here.db.execute(f"PRAGMA max_page_count={limit}")

        for _ in range(2):
            with pytest.raises(LogUnavailable, match="views cannot be used: database or disk"):
                await here.views.apply(page, lambda _, body: body)
        assert await here.views.position() == 300
        assert len(await here.quotas()) == 300

        here.db.execute("PRAGMA max_page_count=100000")
        assert await here.views.apply(page, lambda _, body: body) == 1300
        assert len(await here.quotas()) == 1300
