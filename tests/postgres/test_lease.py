import asyncio
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cs.domain.codec import UnknownEvent
from cs.postgres.errors import Fenced
from cs.postgres.lease import Checkpoint, Leader
from cs.postgres.pool import Pool

LEADING = Path(__file__).parent / "leading.py"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.postgres.lease.EVERY_S", 0.02)


@asynccontextmanager
async def _process(dsn: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(LEADING), dsn, stdout=PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _said(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(20):
        return (await process.stdout.readline()).decode().strip()


class Worker:
    """Work that notes the epochs it was called with and lasts until cancelled."""

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.began = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self, epoch: int) -> None:
        self.epochs.append(epoch)
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_one_leads_at_a_time_and_the_next_begins_when_it_leaves(pool: Pool) -> None:
    first, second = Worker(), Worker()
    one = asyncio.create_task(Leader(pool, "x", "one", first).run())
    await first.began.wait()
    two = asyncio.create_task(Leader(pool, "x", "two", second).run())

    one.cancel()
    await asyncio.gather(one, return_exceptions=True)
    assert not second.began.is_set()
    async with asyncio.timeout(2):  # given back: not the 4 s it would have lasted
        await second.began.wait()
    two.cancel()
    await asyncio.gather(two, return_exceptions=True)

    assert (first.epochs, second.epochs) == ([1], [2])


async def test_a_lease_that_was_taken_away_stops_the_work(pool: Pool) -> None:
    worker = Worker()
    leader = asyncio.create_task(Leader(pool, "x", "one", worker).run())
    await worker.began.wait()

    await pool.execute("UPDATE leases SET epoch = epoch + 1, until = 'infinity'")

    async with asyncio.timeout(5):
        await worker.ended.wait()
    leader.cancel()
    await asyncio.gather(leader, return_exceptions=True)


async def test_work_that_fails_ends_the_leader_and_frees_the_lease(pool: Pool) -> None:
    async def broken(_: int) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await Leader(pool, "x", "one", broken).run()

    worker = Worker()
    leader = asyncio.create_task(Leader(pool, "x", "two", worker).run())
    async with asyncio.timeout(2):
        await worker.began.wait()
    leader.cancel()
    await asyncio.gather(leader, return_exceptions=True)


async def test_work_that_is_fenced_asks_for_the_lease_again(pool: Pool) -> None:
    epochs: list[int] = []
    done = asyncio.Event()

    async def fenced_once(epoch: int) -> None:
        epochs.append(epoch)
        if len(epochs) == 1:
            raise Fenced("later leader")
        done.set()
        await asyncio.Event().wait()

    leader = asyncio.create_task(Leader(pool, "x", "one", fenced_once).run())
    async with asyncio.timeout(5):
        await done.wait()
    leader.cancel()
    await asyncio.gather(leader, return_exceptions=True)

    assert epochs == [1, 2]


async def test_a_checkpoint_passes_from_leader_to_leader_and_fences_the_earlier(
    pool: Pool,
) -> None:
    first, second = Checkpoint(pool, "x", 1), Checkpoint(pool, "x", 2)
    assert await first.load() == 0
    await first.save(10)
    await first.save(7)

    assert await second.load() == 10
    with pytest.raises(Fenced):
        await first.save(11)
    with pytest.raises(Fenced):
        await first.load()
    await second.save(12)

    assert await second.load() == 12


@pytest.mark.slow
async def test_another_process_leads_within_five_seconds_of_a_stop(
    pool: Pool, migrated: str
) -> None:
    async with _process(migrated) as old:
        assert await _said(old) == "leads 1"
        async with _process(migrated) as new:
            kept = await pool.fetchval("SELECT position FROM checkpoints")
            at = time.monotonic()
            old.send_signal(signal.SIGSTOP)
            assert await _said(new) == "leads 2"

            assert time.monotonic() - at < 5.0
            old.send_signal(signal.SIGCONT)
            assert await _said(old) in {"fenced 1", "stopped 1"}
            assert await pool.fetchval("SELECT position FROM checkpoints") >= kept
            assert await pool.fetchval("SELECT epoch FROM checkpoints") == 2


async def test_work_that_meets_a_newer_event_leaves_leading_to_others_for_a_while(
    pool: Pool,
) -> None:
    tries: list[int] = []

    async def old(epoch: int) -> None:
        tries.append(epoch)
        raise UnknownEvent("brand.renamed.v1 is of a newer version")

    new = Worker()
    held = Leader(pool, "x", "old", old)
    one = asyncio.create_task(held.run())
    async with asyncio.timeout(5):
        while held.held is None:
            await asyncio.wait([one], timeout=0.02)
    two = asyncio.create_task(Leader(pool, "x", "new", new).run())
    async with asyncio.timeout(5):
        await new.began.wait()

    assert tries == [1]
    assert new.epochs == [2]
    assert "brand.renamed.v1" in held.held
    assert not one.done()
    for leader in (one, two):
        leader.cancel()
    await asyncio.gather(one, two, return_exceptions=True)


async def test_it_comes_back_and_is_held_no_longer_once_it_got_on(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.postgres.lease.RESTS_S", 0.05)
    epochs: list[int] = []

    async def once(epoch: int) -> None:
        epochs.append(epoch)
        if len(epochs) == 1:
            raise UnknownEvent("brand.renamed.v1 is of a newer version")
        await asyncio.Event().wait()

    leader = Leader(pool, "x", "old", once)
    running = asyncio.create_task(leader.run())
    async with asyncio.timeout(5):
        while len(epochs) < 2 or leader.held is not None:
            await asyncio.wait([running], timeout=0.02)

    assert leader.epoch == epochs[1]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
