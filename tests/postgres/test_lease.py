import asyncio
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from cs.domain.codec import UnknownEvent
from cs.postgres.errors import Fenced
from cs.postgres.lease import Checkpoint, Leader
from cs.postgres.pool import Pool
from cs.runtime.coordination import in_background

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
    """Work that lasts until cancelled, but for its *first* time, which ends with that error.

    Attributes:
        epochs: What it was called with.
    """

    def __init__(self, first: Exception | None = None) -> None:
        self.epochs: list[int] = []
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        self._first = first

    async def __call__(self, epoch: int) -> None:
        self.epochs.append(epoch)
        if self._first is not None and len(self.epochs) == 1:
            raise self._first
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def begins(worker: Worker) -> None:
    async with asyncio.timeout(5):
        await worker.began.wait()


async def test_one_leads_at_a_time_and_the_next_begins_when_it_leaves(pool: Pool) -> None:
    first, second = Worker(), Worker()
    async with AsyncExitStack() as after:
        async with in_background(Leader(pool, "x", "one", first).run(), "one"):
            await begins(first)
            two = in_background(Leader(pool, "x", "two", second).run(), "two")
            await after.enter_async_context(two)
        assert not second.began.is_set()
        async with asyncio.timeout(2):  # given back: not the 4 s it would have lasted
            await second.began.wait()

    assert (first.epochs, second.epochs) == ([1], [2])


async def test_a_lease_that_was_taken_away_stops_the_work(pool: Pool) -> None:
    worker = Worker()
    async with in_background(Leader(pool, "x", "one", worker).run(), "one"):
        await begins(worker)

        await pool.execute("UPDATE leases SET epoch = epoch + 1, until = 'infinity'")

        async with asyncio.timeout(5):
            await worker.ended.wait()


async def test_work_that_fails_ends_the_leader_and_frees_the_lease(pool: Pool) -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        await Leader(pool, "x", "one", Worker(RuntimeError("a bug"))).run()

    worker = Worker()
    async with in_background(Leader(pool, "x", "two", worker).run(), "two"):
        await begins(worker)


async def test_work_that_is_fenced_asks_for_the_lease_again(pool: Pool) -> None:
    worker = Worker(Fenced("later leader"))
    async with in_background(Leader(pool, "x", "one", worker).run(), "one"):
        await begins(worker)

    assert worker.epochs == [1, 2]


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


NEWER = UnknownEvent("brand.renamed.v1 is of a newer version")


async def until_held(leader: Leader, *, held: bool = True) -> None:
    async with asyncio.timeout(5):
        while (leader.held is not None) is not held:
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])


async def test_work_that_meets_a_newer_event_leaves_leading_to_others_for_a_while(
    pool: Pool,
) -> None:
    old, new = Worker(NEWER), Worker()
    held = Leader(pool, "x", "old", old)
    async with in_background(held.run(), "old"):
        await until_held(held)
        async with in_background(Leader(pool, "x", "new", new).run(), "new"):
            await begins(new)

            assert (old.epochs, new.epochs) == ([1], [2])
            assert "brand.renamed.v1" in str(held.held)


async def test_it_comes_back_and_is_held_no_longer_once_it_got_on(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.postgres.lease.RESTS_S", 0.05)
    worker = Worker(NEWER)
    leader = Leader(pool, "x", "old", worker)
    async with in_background(leader.run(), "old"):
        await begins(worker)
        await until_held(leader, held=False)

        assert leader.epoch == worker.epochs[1]
