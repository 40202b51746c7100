"""Positions are in commit order whoever writes: 64 writers in two processes, one tailer.

Run as a program this file is the second process.
"""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cs.domain.key import QuotaGranted
from cs.eventlog.follow import follow
from cs.eventlog.port import Append, RecordedEvent
from cs.eventlog.sqlite import SqliteEventLog
from harness.memory_keys import MemoryKeyStore

pytestmark = pytest.mark.slow

AT = datetime(2026, 1, 1, tzinfo=UTC)
WRITERS = 32  # of each process
ROUNDS = 20
TOTAL = 2 * WRITERS * ROUNDS


async def write_all(log: SqliteEventLog, name: str) -> list[int]:
    """Return the positions that the writers were answered."""
    answered: list[int] = []

    async def write(stream: str) -> None:
        for version in range(ROUNDS):
            event = QuotaGranted(units=version, at=AT)
            answered.append(await log.append([Append(stream, version - 1, [event])]))

    async with asyncio.TaskGroup() as tasks:
        for n in range(WRITERS):
            tasks.create_task(write(f"key-{name}{n}"))
    return answered


async def test_a_tailer_sees_every_position_once_in_order_while_two_processes_write(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"
    seen: list[RecordedEvent] = []
    async with SqliteEventLog(path, MemoryKeyStore()) as log:

        async def watch() -> None:
            async for page in follow(log, 0, page=50):
                seen.extend(page)
                if len(seen) >= TOTAL:
                    return

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            other = await asyncio.create_subprocess_exec(
                sys.executable,
                __file__,
                str(path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            assert other.stdin is not None
            assert other.stdout is not None
            assert await other.stdout.readline() == b"open\n"
            other.stdin.write(b"go\n")
            ours = await write_all(log, "a")
            theirs = [int(word) for word in (await other.stdout.read()).split()]
            assert await other.wait() == 0

    assert [r.position for r in seen] == list(range(1, TOTAL + 1))
    assert sorted(ours + theirs) == list(range(1, TOTAL + 1))
    assert {r.stream[4] for r in seen} == {"a", "b"}
    with closing(sqlite3.connect(path)) as database:
        stored = database.execute(
            "SELECT rowid, originator_id, originator_version FROM stored_events ORDER BY rowid"
        ).fetchall()
    assert [(r.position, r.stream, r.version) for r in seen] == stored
    for stream in {r.stream for r in seen}:
        assert [r.version for r in seen if r.stream == stream] == list(range(ROUNDS))


async def _second_process(path: Path) -> None:
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        print("open", flush=True)  # noqa: T201
        await asyncio.to_thread(sys.stdin.readline)
        print(*await write_all(log, "b"))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_second_process(Path(sys.argv[1])))
