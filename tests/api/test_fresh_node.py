"""A node that has just started: ready only once it answers like one that has run for hours."""

from pathlib import Path

from api.away import fragile
from cs.domain.brand.events import BrandForgotten
from cs.eventlog.port import NO_STREAM, Append
from domain.acme_run import AT
from harness.in_process import on_folder


async def test_the_keys_in_use_are_folded_before_the_first_call(tmp_path: Path) -> None:
    async with on_folder(tmp_path / "data") as service:
        key = await service.new_key()
        assert (await service.search(key, brand="Veltrana")).status_code == 200

    async with on_folder(tmp_path / "data") as service:
        folded = service.running.streams.remembered(f"key-{key.id}")

        assert folded is not None
        assert folded.state.quota == 10


async def test_a_node_behind_views_or_log_is_not_ready_and_shows_how_far() -> None:
    async with fragile() as service:
        ready = await service.readyz()
        service.views.locked = True
        behind = [BrandForgotten(at=AT)] * 10_001
        await service.log.append([Append("brand-x", NO_STREAM, behind)])
        not_ready = await service.readyz()

    assert (ready.status_code, not_ready.status_code) == (200, 503)
    assert ready.json()["views_behind"] < 10
    assert not_ready.json()["views_behind"] >= len(behind)
