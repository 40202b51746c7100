"""The metrics of a process as such: what it is, and whether its event loop is free."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from cs.domain.service import World
from cs.metrics.loop_delay import measure_loop_delay
from cs.metrics.metrics import Metrics


@asynccontextmanager
async def measured_process(metrics: Metrics, role: str, world: World) -> AsyncIterator[None]:
    """Measure this process, which is of *role*, until left."""
    metrics.info.of(role, version("contact-search"), world).set(1)
    measuring = asyncio.create_task(measure_loop_delay(metrics), name="loop-delay")
    try:
        yield
    finally:
        measuring.cancel()
        await asyncio.gather(measuring, return_exceptions=True)
