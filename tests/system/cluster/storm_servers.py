"""Faults of servers, and of roles that lead, while roles die."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import asyncpg

from harness.service_process import ServiceProcess
from system.cluster.cluster import Cluster

#: How long a broker is away, or silent.
AWAY_S = 6.0
#: Time limit until a running role leads, and the interval between two looks.
_LEADS_S, _LOOK_S = 60.0, 0.2
LEADERS = ("relay", "driver", "views")


@dataclass
class Servers:
    """Does *faults*, each a name of a method here, one after the other until *until*.

    Attributes:
        done: What was done.
    """

    cluster: Cluster
    faults: Sequence[str]
    every_s: float  # between two
    suspended_s: float  # how long a leader is stopped
    until: float  # of `time.monotonic`
    chance: random.Random
    tell: Callable[[str], None]
    done: list[str] = field(default_factory=list)

    async def come(self) -> None:
        for fault in self.faults:
            await asyncio.sleep(self.every_s)
            if time.monotonic() >= self.until:
                return
            what, _, which = fault.partition(" ")
            do: Callable[..., Awaitable[None]] = getattr(self, what.replace("-", "_"))
            self.tell(fault)
            await (do(which) if which else do())
            self.done.append(fault)

    async def kill_broker(self) -> None:
        await self._without_broker(self.cluster.kafka.kill)

    async def stop_broker(self) -> None:
        await self._without_broker(self.cluster.kafka.stop)

    async def suspend_broker(self) -> None:
        number = self._broker()
        self.cluster.kafka.suspend(number)
        await asyncio.sleep(self.suspended_s)
        self.cluster.kafka.resume(number)

    async def wipe_kafka(self) -> None:
        await asyncio.to_thread(self.cluster.kafka.wipe)
        await asyncio.to_thread(self.cluster.make_topics)

    async def restart_postgres(self) -> None:
        await asyncio.to_thread(self.cluster.postgres.restart)

    async def kill_postgres(self) -> None:
        await asyncio.to_thread(self.cluster.postgres.kill)
        await asyncio.to_thread(self.cluster.postgres.start)

    async def suspend_leader(self, of: str) -> None:
        """Suspend the process that leads *of*, and resume it."""
        role = await self._leader(of)
        pid = role.pid
        role.suspend()
        await asyncio.sleep(self.suspended_s)
        if role.pid == pid:  # else it was killed meanwhile
            role.resume()

    async def _leader(self, of: str) -> ServiceProcess:
        """Return the role that leads *of*, as soon as it is one that runs."""
        async with asyncio.timeout(_LEADS_S):
            while True:
                with suppress(OSError, asyncpg.PostgresError):
                    held = {pid for (pid,) in await self.cluster.fetch(_LEADER, of)}
                    for role in self.cluster.roles.values():
                        if role.runs and role.pid in held:
                            return role
                await asyncio.sleep(_LOOK_S)

    async def _without_broker(self, end: Callable[[int], None]) -> None:
        number = self._broker()
        await asyncio.to_thread(end, number)
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(self.cluster.kafka.start, number)

    def _broker(self) -> int:
        return self.chance.choice(self.cluster.kafka.brokers).number


_LEADER = """
SELECT substring(holder FROM '[0-9]+$')::int FROM leases
WHERE split_part(name, ' ', 1) = $1 AND until > clock_timestamp()
"""
