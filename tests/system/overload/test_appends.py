"""Appends waiting for the disk have an end: beyond it 500 at once, with nothing stored."""

import asyncio
from pathlib import Path

from cs.domain.key import SearchAdmitted
from system.overload.http_service import StuckDisk, log_on_a_stuck_disk, over_http


async def test_appends_beyond_the_bound_are_refused_without_a_trace_and_later_ones_accepted(
    tmp_path: Path,
) -> None:
    disk = StuckDisk
    disk.let.set()
    async with (
        log_on_a_stuck_disk(tmp_path / "log.db", waiting=3) as log,
        over_http(log) as over,
    ):
        keys = await over.keys(12)
        disk.let.clear()
        disk.began.clear()
        calls = [asyncio.create_task(over.post(keys[0], "slow 0"))]
        assert await asyncio.to_thread(disk.began.wait, 20)
        calls += [
            asyncio.create_task(over.post(key, f"slow {n}"))
            for n, key in enumerate(keys[1:], 1)
        ]

        await over.until(lambda: sum(call.done() for call in calls) == 8)
        refused = [call.result() for call in calls if call.done()]
        disk.let.set()
        answers = await asyncio.gather(*calls)

        assert {answer.status_code for answer in refused} == {500}
        assert {answer.headers["Retry-After"] for answer in refused} == {"5"}
        assert {answer.json()["error"]["code"] for answer in refused} == {"server_error"}
        taken = {answer.json()["id"] for answer in answers if answer.status_code == 202}
        assert len(taken) == 4
        assert {
            recorded.event.search
            for recorded in await log.tail(0)
            if isinstance(recorded.event, SearchAdmitted)
        } == taken
        # What was taken goes on in the background, and may fill the few places for a moment.
        for key in keys:
            async with asyncio.timeout(20):
                while (again := await over.post(key, "slow 20")).status_code == 500:
                    assert int(again.headers["Retry-After"]) > 0
            assert again.status_code == 202
