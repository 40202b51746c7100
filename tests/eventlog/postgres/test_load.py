"""Many writers, and a server that goes away under them: nothing lost, nothing twice."""

import asyncio
from contextlib import AsyncExitStack, suppress

import pytest

from contracts.event_log import said, units
from cs.eventlog.port import Append, EventLog, LogUnavailable, RecordedEvent
from harness.memory_keys import MemoryKeyStore
from harness.places import log_in, open_database
from harness.servers.postgres import Postgres

pytestmark = pytest.mark.slow

WRITERS = 64
ROUNDS = 40
LOGS = 2


async def two_logs(dsn: str, stack: AsyncExitStack) -> list[EventLog]:
    """Return two logs that know nothing of each other, as two processes have them."""
    logs = list[EventLog]()
    for _ in range(LOGS):
        pool = await stack.enter_async_context(open_database(dsn, "service"))
        logs.append(await stack.enter_async_context(log_in(pool, MemoryKeyStore())))
    return logs


async def watched(log: EventLog, seen: list[RecordedEvent], total: int) -> None:
    while len(seen) < total:
        await log.grown(len(seen))
        with suppress(LogUnavailable):
            seen.extend(await log.tail(len(seen), 50))


async def test_a_tailer_sees_every_event_in_order_while_two_logs_write(
    every_database: str,
) -> None:
    total = WRITERS * ROUNDS
    seen: list[list[RecordedEvent]] = [[], []]

    async def write(log: EventLog, stream: str) -> list[int]:
        return [
            await log.append([Append(stream, version - 1, units(version))])
            for version in range(ROUNDS)
        ]

    async with AsyncExitStack() as stack:
        logs = await two_logs(every_database, stack)
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            for log, of_log in zip(logs, seen, strict=True):
                tasks.create_task(watched(log, of_log, total))
            writing = [
                tasks.create_task(write(logs[n % LOGS], f"key-{n}")) for n in range(WRITERS)
            ]

    answered = sorted(position for task in writing for position in task.result())
    assert answered == list(range(1, total + 1))
    for of_log in seen:
        assert [r.position for r in of_log] == list(range(1, total + 1))
        for n in range(WRITERS):
            versions = [r.version for r in of_log if r.stream == f"key-{n}"]
            assert versions == list(range(ROUNDS))


async def test_a_server_that_is_killed_under_load_loses_nothing_and_doubles_nothing(
    own_postgres: Postgres,
) -> None:
    """An append that was answered is stored once, any other at most once."""
    writers, rounds = 16, 150
    total = writers * rounds
    answers: dict[int, tuple[str, int]] = {}
    lost = 0
    seen: list[RecordedEvent] = []
    half = asyncio.Event()

    async def write(log: EventLog, stream: str) -> None:
        """Append 0, 1, 2, ... each once; after an answer that is unknown, read."""
        nonlocal lost
        version = 0
        while version < rounds:
            try:
                position = await log.append([Append(stream, version - 1, units(version))])
            except LogUnavailable:
                lost += 1
                version = len(await _read_in_the_end(log, stream))
            else:
                answers[position] = (stream, version)
                version += 1
                if len(answers) >= total // 3:
                    half.set()

    async with AsyncExitStack() as stack:
        logs = await two_logs(own_postgres.dsn, stack)
        async with asyncio.timeout(90), asyncio.TaskGroup() as tasks:
            tasks.create_task(watched(logs[1], seen, total))
            for n in range(writers):
                tasks.create_task(write(logs[n % LOGS], f"key-{n}"))
            await half.wait()
            await asyncio.to_thread(own_postgres.kill)
            await asyncio.to_thread(own_postgres.start)

    assert [r.position for r in seen] == list(range(1, total + 1))
    stands = {r.position: (r.stream, r.version) for r in seen}
    assert {position: stands[position] for position in answers} == answers
    for n in range(writers):
        assert said([r for r in seen if r.stream == f"key-{n}"]) == list(range(rounds))
    assert len(answers) >= total - lost


async def _read_in_the_end(log: EventLog, stream: str) -> list[RecordedEvent]:
    while True:
        try:
            return list(await log.read(stream))
        except LogUnavailable:
            pass
