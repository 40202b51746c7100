"""How late the event loop wakes who waits: work that blocks it makes everybody wait."""

import asyncio
from typing import NoReturn

from cs.metrics.metrics import Metrics

EVERY_S = 0.25


async def measure_loop_delay(metrics: Metrics) -> NoReturn:
    """Measure it for ever, four times a second."""
    loop = asyncio.get_running_loop()
    late_s = metrics.loop_late_seconds.of()
    while True:
        due = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        late_s.observe(loop.time() - due)
