"""`cs` on a bus that loses, doubles and delays some of what a role publishes.

``python -m system.cluster.faulty_role relay …`` runs the role as ``cs relay …`` does.  Each
share of `SHARES` is the part of its records that this happens to.  A record that is late is
overtaken by those after it, of its own key too.  The feed of events is left alone.
"""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from cs.__main__ import main
from cs.bus.kafka.bus import KafkaBus
from cs.bus.port import NO_HEADERS, BusUnavailable
from cs.bus.topics import EVENTS

#: Which roles are run like this; the others publish nothing that matters.
KINDS = ("relay", "stage-")
#: What has to be in the environment of such a process.
ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parents[2])}
SHARES = {"drop": 0.01, "duplicate": 0.01, "late": 0.01}
#: A late record is published after at most this.
LATE_S = 2.0

_publish = KafkaBus.publish
_late: set[asyncio.Task[None]] = set()


async def _publish_with_faults(
    self: KafkaBus,
    topic: str,
    *,
    key: bytes,
    value: bytes,
    headers: Mapping[str, str] = NO_HEADERS,
) -> None:
    async def publish(after_s: float = 0.0) -> None:
        await asyncio.sleep(after_s)
        await _publish(self, topic, key=key, value=value, headers=headers)

    async def publish_late() -> None:
        with suppress(BusUnavailable):  # then it is lost
            await publish(random.uniform(0, LATE_S))

    happens = {fault: random.random() < share for fault, share in SHARES.items()}
    if topic == EVENTS:
        await publish()
    elif happens["late"]:
        task = asyncio.create_task(publish_late(), name="late-record")
        _late.add(task)
        task.add_done_callback(_late.discard)
    elif not happens["drop"]:
        await publish()
        if happens["duplicate"]:
            await publish()


if __name__ == "__main__":
    KafkaBus.publish = _publish_with_faults  # type: ignore[method-assign]
    main()
