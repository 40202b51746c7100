"""What it costs to store with each event what caused it.

    PYTHONPATH=tests .venv/bin/python bench/causes.py [EVENTS] [ROUNDS] [DSN]

The same events are appended and read with a cause and without, in turns, so that whatever
else the machine does meets both; medians of the rounds.  16 callers, one event of about 114
bytes an append, and one message's cause (145 bytes), the longest there is in numbers: the
worst case, since most events are longer and other causes shorter.  Without a DSN a private
PostgreSQL is started, with fsync.

*events/s* is by the clock, *CPU* this process's own time.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

from cs.domain.causation import AnyCause, MessageCause
from cs.domain.key import SearchSettled
from cs.eventlog.port import Append, EventLog
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.postgres.pool import open_pool
from cs.postgres.schema import migrate
from cs.postgres.schema_steps import STORES
from harness.memory_keys import MemoryKeyStore
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres

CALLERS = 16
PAGE = 500
AT = datetime(2026, 1, 1, tzinfo=UTC)
CAUSE = MessageCause(
    topic="cs.outcomes.v1",
    id="brand-5f0c1e2d3a4b5c6d7e8f90a1b2c3d4e5.1-k7f2m9qd/verification/acme.test/1/x",
    attempt=1,
)
Open = Callable[[], AbstractAsyncContextManager[EventLog]]


class Cost(NamedTuple):
    """Of one event."""

    seconds: float
    cpu_s: float


def settled(number: int) -> SearchSettled:
    return SearchSettled(
        search=f"srch_{number}", lookup="b.1", outcome="done", charged=True, cached=True, at=AT
    )


_names = count()


async def appended(log: EventLog, events: int, cause: AnyCause | None) -> Cost:
    async def caller(stream: str) -> None:
        for version in range(events // CALLERS):
            await log.append([Append(stream, version - 1, [settled(version)], cause)])

    began, cpu = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(CALLERS):
            tasks.create_task(caller(f"key-{next(_names)}"))
    return _cost(began, cpu, events)


async def read(log: EventLog, after: int, events: int) -> Cost:
    began, cpu = time.perf_counter(), time.process_time()
    end = after + events
    while after < end:
        after = (await log.tail(after, PAGE))[-1].position
    return _cost(began, cpu, events)


def _cost(began: float, cpu: float, events: int) -> Cost:
    took, worked = time.perf_counter() - began, time.process_time() - cpu
    return Cost(took / events, worked / events)


async def measure(opened: Open, events: int, rounds: int) -> None:
    found: dict[tuple[str, bool], list[Cost]] = {}
    events -= events % CALLERS
    for number in range(rounds):
        for cause in ((None, CAUSE), (CAUSE, None))[number % 2]:
            async with opened() as log:
                first = await log.head()
                cost = await appended(log, events, cause)
                found.setdefault(("append", cause is not None), []).append(cost)
            async with opened() as log:  # with nothing in memory
                cost = await read(log, first, events)
                found.setdefault(("tail", cause is not None), []).append(cost)
    for what in ("append", "tail"):
        rows = [
            (median(c.seconds for c in costs), median(c.cpu_s for c in costs))
            for costs in (found[what, False], found[what, True])
        ]
        (plain, plain_cpu), (caused, caused_cpu) = rows
        told = (
            f"  {what:<8}{1 / plain:10,.0f}{1 / caused:10,.0f} events/s {caused / plain:5.2f}x"
        )
        told += f"{plain_cpu * 1e6:8.1f}{caused_cpu * 1e6:6.1f} us CPU"
        print(told, f"{caused_cpu / plain_cpu:5.2f}x")


async def main(events: int, rounds: int, dsn: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        print("SQLite: without, with, ratio")
        await measure(lambda: SqliteEventLog(path, MemoryKeyStore()), events, rounds)
    async with open_pool(dsn, role="bench") as pool, pool.acquire() as connection:
        await migrate(connection, STORES[0])

    @asynccontextmanager
    async def in_postgres() -> AsyncIterator[EventLog]:
        async with (
            open_pool(dsn, role="bench") as pool,
            PostgresEventLog(pool, MemoryKeyStore()) as log,
        ):
            yield log

    print("PostgreSQL")
    await measure(in_postgres, events, rounds)


if __name__ == "__main__":
    said = dict(enumerate(sys.argv[1:]))
    with ExitStack() as stack:
        dsn = said.get(2)
        if dsn is None:
            own = stack.enter_context(own_folder())
            dsn = stack.enter_context(running_postgres(own / "postgres", durable=True)).dsn
        asyncio.run(main(int(said.get(0, "16000")), int(said.get(1, "5")), dsn))
