"""Parts of a role, shared out among its processes; and the one number of parts for all."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from cs.doctor.finding import DoctorFinding
from cs.doctor.machine import check_database
from cs.domain.codec import UnknownEvent
from cs.metrics.metrics import Metrics
from cs.postgres.checkpoints import Checkpoint
from cs.postgres.errors import Fenced, OtherParts
from cs.postgres.part_leaders import PartLeaders
from cs.postgres.pool import Pool, open_pool
from cs.postgres.schema import migrate
from cs.postgres.work_parts import use_parts
from cs.runtime.part import Part

#: Every step of the leaders under test, s: short, so that nobody waits for long.
EVERY_S, LASTS_S = 0.02, 1.5


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with open_pool(database, role="test") as pool:
        async with pool.acquire() as connection:
            await migrate(connection, "service")
        yield pool


class Process:
    """One process of a role, and which parts it does."""

    def __init__(self, pool: Pool, name: str, parts: int, changed: asyncio.Condition) -> None:
        self.does: set[str] = set()
        self.fails_with: Exception | None = None
        self.metrics = Metrics()
        self._changed = changed
        self.leaders = PartLeaders(
            pool,
            "driver",
            name,
            self._work,
            parts,
            lasts_s=LASTS_S,
            every_s=EVERY_S,
            metrics=self.metrics,
        )

    async def _work(self, part: Part, _epoch: int) -> None:
        if self.fails_with is not None:
            raise self.fails_with
        self.does.add(str(part))
        try:
            async with self._changed:
                self._changed.notify_all()
            await asyncio.Event().wait()
        finally:
            self.does.discard(str(part))
            async with self._changed:
                self._changed.notify_all()


class Role:
    """Processes that share out *parts*."""

    def __init__(self, pool: Pool, parts: int) -> None:
        self._pool = pool
        self._parts = parts
        self._changed = asyncio.Condition()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.processes: dict[str, Process] = {}

    def start(self, name: str) -> Process:
        process = Process(self._pool, name, self._parts, self._changed)
        self.processes[name] = process
        self._tasks[name] = asyncio.create_task(process.leaders.run())
        return process

    async def end(self, name: str) -> None:
        task = self._tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    @property
    def shares(self) -> Mapping[str, int]:
        return {name: len(each.does) for name, each in self.processes.items()}

    async def come_to(self, right: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(right)


@asynccontextmanager
async def role(pool: Pool, parts: int) -> AsyncIterator[Role]:
    await use_parts(pool, parts)
    running = Role(pool, parts)
    async with AsyncExitStack() as stack:
        yield running
        for name in list(running._tasks):
            stack.push_async_callback(running.end, name)


async def test_each_process_does_its_share_and_the_others_take_over_who_leaves(
    pool: Pool,
) -> None:
    async with role(pool, 4) as running:
        running.start("a")
        await running.come_to(lambda: running.shares == {"a": 4})
        running.start("b")
        await running.come_to(lambda: running.shares == {"a": 2, "b": 2})
        running.start("c")
        await running.come_to(lambda: sum(running.shares.values()) == 4)
        await running.come_to(lambda: max(running.shares.values()) == 2)

        everybody = [part for each in running.processes.values() for part in each.does]
        assert sorted(everybody) == ["1/4", "2/4", "3/4", "4/4"]
        for name in ("a", "b"):
            await running.end(name)
        await running.come_to(lambda: running.shares == {"a": 0, "b": 0, "c": 4})
        c = running.processes["c"]
        assert list(c.leaders.parts) == ["1/4", "2/4", "3/4", "4/4"]
        held = {labels: gauge.value for labels, gauge in c.metrics.leases_held.read().items()}
        assert held == {(f"driver-{n}/4",): 1.0 for n in range(1, 5)}


async def test_who_cannot_lead_leaves_its_share_to_the_others(pool: Pool) -> None:
    async with role(pool, 2) as running:
        old = running.start("old")
        old.fails_with = UnknownEvent("brand.renamed.v1 is of a newer version")
        running.start("new")

        await running.come_to(lambda: running.shares == {"old": 0, "new": 2})


async def test_what_is_not_shared_out_has_the_lease_that_it_always_had(pool: Pool) -> None:
    async with role(pool, 1) as running:
        only = running.start("a")
        await running.come_to(lambda: running.shares == {"a": 1})

        (lease,) = await pool.fetch("SELECT name, epoch FROM leases")
        assert tuple(lease) == ("driver", 1)
        assert not await pool.fetchval("SELECT count(*) FROM part_members")
        assert (only.leaders.epoch, only.leaders.parts, only.leaders.held) == (1, [], None)


async def test_another_number_of_parts_is_refused_while_one_is_led(
    pool: Pool, database: str
) -> None:
    async def examined() -> DoctorFinding:
        return await check_database("postgres", "service", database, insecure=False, parts=3)

    async with role(pool, 2) as running:
        running.start("host:7")
        await running.come_to(lambda: running.shares == {"host:7": 2})

        with pytest.raises(OtherParts, match=r"3 here, but .* have 2 \(host:7 has driver-1/2"):
            await use_parts(pool, 3)
        told = await examined()
        assert (told.state, told.advice) == ("failed", "mend the setting parts")
        assert "host:7 has driver-1/2" in told.said
    assert (await examined()).state == "ok"
    await use_parts(pool, 3)
    assert (await examined()).state == "ok"


async def test_who_waits_with_the_old_number_never_leads_again_and_says_so(pool: Pool) -> None:
    async with role(pool, 1) as running:
        waiting = running.start("a")
        await running.come_to(lambda: running.shares == {"a": 1})
        async with asyncio.timeout(10):
            while waiting.leaders.held is None:  # as if its lease had run out while it was away
                await pool.execute("UPDATE parts SET number = 2")
                await pool.execute("UPDATE leases SET until = 'infinity', epoch = epoch + 1")
                await running.come_to(lambda: running.shares == {"a": 0})
                await pool.execute("UPDATE leases SET until = '-infinity'")

    assert waiting.leaders.held == "parts is 1 here, and 2 on this database by now"


async def test_who_was_away_while_the_number_changed_leads_no_more(pool: Pool) -> None:
    async with role(pool, 1) as running:
        running.start("a")
        await running.come_to(lambda: running.shares == {"a": 1})
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("UPDATE leases SET until = '-infinity'")
            await connection.execute("UPDATE parts SET number = 2")

        await running.come_to(lambda: running.shares == {"a": 0})


async def test_new_parts_go_on_where_the_last_of_the_old_ones_was(pool: Pool) -> None:
    one = Checkpoint(pool, "relay", 5)
    await one.load()
    await one.save(700)

    await use_parts(pool, 2)
    halves = [Checkpoint(pool, Part(n, 2).lease("relay"), 1) for n in (1, 2)]
    assert [await each.load() for each in halves] == [700, 700]
    with pytest.raises(Fenced):
        await one.save(701)
    with pytest.raises(Fenced):  # it does not begin anew either
        await Checkpoint(pool, "relay", 6).load()
    await halves[0].save(900)
    await use_parts(pool, 2)
    assert [await each.load() for each in halves] == [900, 700]

    await use_parts(pool, 1)
    assert await Checkpoint(pool, "relay", 6).load() == 700
    await use_parts(pool, 2)
    assert await Checkpoint(pool, "relay-1/2", 2).load() == 700
