"""What every role but the stages opens: the databases, the streams of the log, the time."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec

from cs.admin.health import Readiness
from cs.assembly.databases import SharedTime, open_shared_time, open_stages_pool
from cs.assembly.postgres_stores import SharedStores, open_shared_stores
from cs.assembly.process import check_world, measured_process, open_traces
from cs.assembly.shared_settings import insecure_role
from cs.domain.service import World
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.operations.operator import Operator
from cs.postgres.pool import Pool
from cs.runtime.clock import Clock
from cs.settings import Settings


class SharedParts(msgspec.Struct, frozen=True):
    """The databases of a role, open.

    Attributes:
        stages_pool: The stages' own database; ``None`` where the settings do not name it.
        insecure: Hosts that need not prove who they are, by setting.
    """

    data: SharedStores
    streams: Streams
    time: SharedTime
    stages_pool: Pool | None
    metrics: Metrics
    insecure: Mapping[str, Sequence[str]]

    @property
    def clock(self) -> Clock:
        return self.time.clock

    def readiness(self, **more: Any) -> Readiness:
        """Return the readiness of a role, with *more* of its own parts."""
        return Readiness(
            self.data.log,
            self.data.keys,
            clock=self.clock,
            time=self.data.time,
            set_aside=self.streams.set_aside,
            insecure=self.insecure,
            metrics=self.metrics,
            **more,
        )


@asynccontextmanager
async def open_shared(
    settings: Settings, world: World, role: str
) -> AsyncIterator[SharedParts]:
    """Open the databases of *settings* for *role*, and tie the log to *world*.

    Raises:
        BadSettings: One is missing or wrong, or only a sandbox may have it.
        Refusal: ``other-world``: the log belongs to the other world.
        WrongSchema: A database is not of this version.
        WrongMasterKey: The key store was made with another.
        DatabaseUnavailable, KeysUnavailable: A database cannot be reached.
    """
    check_world(settings, world)
    async with AsyncExitStack() as stack:
        metrics = Metrics(await stack.enter_async_context(open_traces(settings, role)))
        data = await stack.enter_async_context(
            open_shared_stores(settings, role, world, metrics)
        )
        stages_pool = None
        if world == "sandbox" or settings.stages_postgres is not None:
            stages_pool = await stack.enter_async_context(
                open_stages_pool(settings, role, world)
            )
        shared_time = await open_shared_time(data.time, world, stages_pool)
        streams = Streams(data.log, data.snapshots, metrics)
        await Operator(streams, shared_time.clock).choose_world(world)
        await stack.enter_async_context(measured_process(metrics, role, world))
        insecure = insecure_role(settings, world)
        yield SharedParts(data, streams, shared_time, stages_pool, metrics, insecure)
