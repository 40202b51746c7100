"""The operator of a cluster, in this process: a hundred keys cost a moment, not a minute."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.databases import keep_time, open_shared_time, open_stages_pool
from cs.assembly.postgres_stores import open_shared_stores
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.settings import load
from system.cluster.cluster import Cluster


@dataclass(frozen=True)
class Operating:
    operator: Operator
    streams: Streams
    clock: SandboxClock

    async def keys(self, number: int, quota: int = 100) -> list[str]:
        """Return the secrets of *number* new keys."""
        return [(await self.operator.create_key("test", quota)).key for _ in range(number)]


@asynccontextmanager
async def operating(cluster: Cluster) -> AsyncIterator[Operating]:
    settings = load(cluster.settings_file, environment=cluster.environment)
    async with (
        open_shared_stores(settings, "test") as data,
        open_stages_pool(settings, "test") as pool,
    ):
        told = await open_shared_time(data.time, "sandbox", pool)
        assert isinstance(told.clock, SandboxClock)
        async with keep_time(told):
            streams = Streams(data.log, data.snapshots)
            yield Operating(Operator(streams, told.clock), streams, told.clock)
