"""One process of a service on PostgreSQL, of the version that is first on its path.

Takes a command a line on standard input, JSON, and answers each with a line.  It holds no
people, so its data keys are its own.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

import structlog

import cs
from cs.domain import key
from cs.domain.causation import StartCause
from cs.domain.key import GrantQuota, KeyIssued
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import Append
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.snapshots import Snapshots, snapshots_away
from cs.eventlog.streams import Streams
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.postgres.lease import Leader
from cs.postgres.pool import open_pool
from cs.postgres.sql import PostgresDatabase
from cs.projections.builds import version_of
from cs.projections.catalogue import projections
from cs.projections.following import ViewFollower
from cs.projections.postgres import postgres_views
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.usage import USAGE
from cs.runtime.clock import SystemClock
from harness.memory_keys import MemoryKeyStore

AT = datetime(2026, 1, 1, tzinfo=UTC)


class Member:
    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._tasks: dict[str, asyncio.Future[None]] = {}

    async def open(self, dsn: str) -> None:
        enter = self._stack.enter_async_context
        pool = await enter(open_pool(dsn, role="member"))
        self.keys = MemoryKeyStore()
        self.log = await enter(PostgresEventLog(pool, self.keys))
        self.views = postgres_views(pool, projections())
        self._stack.push_async_callback(self.views.close)
        snapshots = await enter(Snapshots(PostgresDatabase(pool, snapshots_away)))
        self.streams = Streams(self.log, snapshots)
        self.follower = ViewFollower(self.log, self.views)
        self.reading = Reading(self.log, self.views, self.follower, self.keys)
        self.leaders = {
            "views": Leader(pool, f"views {version_of(projections())}", "m", self._project),
            "driver": Leader(pool, "driver", "m", self._drive),
        }

    async def _project(self, epoch: int) -> None:
        runner = ViewRunner(self.log, self.views, self.keys, epoch=epoch)
        await runner.catch_up()
        await runner.run()

    async def _drive(self, _: int) -> None:
        heartbeats = MemoryHeartbeats(SystemClock().monotonic)
        await Driver(
            self.streams, self.reading, SystemClock(), heartbeats, restart_work=False
        ).run()

    def _begin(self, name: str, work: Awaitable[None]) -> None:
        self._tasks[name] = task = asyncio.ensure_future(work)

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self._stack.push_async_callback(end)

    # What it can be told.

    async def issue(self, key_id: str) -> Any:
        event = KeyIssued(label="", quota=0, secret_hash=key_id, last4="", at=AT)
        return await self.log.append([Append(f"key-{key_id}", -1, [event])])

    async def grant(self, key_id: str, units: int) -> Any:
        command = GrantQuota(units=units, at=AT)
        _, position = await self.streams.change(
            f"key-{key_id}", lambda s: key.decide(command, s), caused_by=StartCause()
        )
        return position

    async def lend(self, key_id: str, units: int) -> Any:
        version = (await self.streams.key(key_id)).version
        lent: Any = vars(key)["Lent"](units=units, at=AT)
        return await self.log.append([Append(f"key-{key_id}", version, [lent])])

    async def quota(self, key_id: str) -> Any:
        return (await self.streams.key(key_id)).state.quota

    async def lead(self, what: str) -> Any:
        self._begin(what, self.leaders[what].run())

    async def follow(self) -> Any:
        await self.follower.catch_up()
        self._begin("follower", self.follower.run())

    async def reflect(self, position: int) -> Any:
        """Wait until the views of this version reflect *position*."""
        reached = 0
        while reached < position:
            reached = await self.views.moved(reached)
        return reached

    async def shown(self, key_id: str) -> Any:
        row = await self.views.get(USAGE, key_id)
        return [await self.views.position(), None if row is None else row.quota]

    async def usage(self, key_id: str) -> Any:
        row = await self.reading.usage(key_id)
        return None if row is None else row.quota

    async def held(self, what: str) -> Any:
        """Wait until *what* cannot go on; return why."""
        async with asyncio.timeout(15):
            while True:
                at = self.leaders[what].held if what in self.leaders else self.follower.gate.why
                if at is not None:
                    return at
                await self._a_moment(what)

    async def leads(self, what: str) -> Any:
        """Wait until this process leads *what*."""
        async with asyncio.timeout(15):
            while self.leaders[what].epoch is None:
                await self._a_moment(what)
        return True

    async def _a_moment(self, what: str) -> None:
        ended, _ = await asyncio.wait([self._tasks[what]], timeout=0.02)
        for task in ended:
            task.result()


async def main(dsn: str) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    async with AsyncExitStack() as stack:
        member = Member(stack)
        await member.open(dsn)
        print(cs.__file__, flush=True)  # noqa: T201
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, *arguments = json.loads(line)
            do: Callable[..., Awaitable[Any]] = getattr(member, name)
            try:
                answer = {"is": await do(*arguments)}
            except LogUnavailable as error:
                answer = {"error": type(error).__name__, "why": str(error)}
            print(json.dumps(answer), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
