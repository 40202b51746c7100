"""A node that has just started: ready only once it answers like one that has run for hours."""

from pathlib import Path

from cs.admin.health import LAG, Readiness
from cs.domain.brand.events import BrandForgotten
from cs.eventlog.port import NO_STREAM, Append
from cs.projections.catalogue import projections
from cs.projections.following import ViewFollower
from cs.projections.sqlite import sqlite_views
from domain.acme_run import AT
from harness.in_process import on_folder
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from projections.history import write


async def test_the_keys_in_use_are_folded_before_the_first_call(tmp_path: Path) -> None:
    async with on_folder(tmp_path / "data") as service:
        key = await service.new_key()
        assert (await service.search(key, brand="Veltrana")).status_code == 200

    async with on_folder(tmp_path / "data") as service:
        folded = service.running.streams.remembered(f"key-{key.id}")

        assert folded is not None
        assert folded.state.quota == 10


async def test_a_node_behind_views_or_log_is_not_ready_and_shows_how_far() -> None:
    log = MemoryEventLog(MemoryKeyStore())
    await write(log)
    views = sqlite_views(None, projections())
    follower = ViewFollower(log, views)
    ready = Readiness(log, views=follower)
    behind = await log.head()

    before = await ready.check()
    await log.append([Append("brand-x", NO_STREAM, [BrandForgotten(at=AT)] * LAG)])
    after = await ready.check()
    await views.close()

    assert (before[0], before[1]["views_behind"]) == (behind <= LAG, behind)
    assert (after[0], after[1]["views_behind"]) == (False, behind + LAG)
