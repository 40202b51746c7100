"""Everything that drives lookups, in one process: the recorder of outcomes and the driver."""

import asyncio
from collections.abc import Collection
from datetime import datetime

from cs.bus.port import Bus
from cs.eventlog.open_work import OpenWork
from cs.eventlog.streams import Streams
from cs.eventlog.version_gate import VersionGate
from cs.metrics.metrics import Metrics
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import Heartbeats, MemoryHeartbeats
from cs.pipeline.outcomes import OutcomeRecorder
from cs.pipeline.receipts import Receipts
from cs.pipeline.refuted import RefutedMailboxes
from cs.pipeline.schedule import AttemptId
from cs.pipeline.suppression import SuppressionFilter
from cs.runtime.clock import Clock


class ProcessManager:
    """Runs until cancelled.

    Args:
        restart_work: Issue all open work again at the start (`Driver`).
        real: Measures a stage's silence, if not *clock* does (`Driver`).
        receipts: Show whether the work that an outcome answers was issued to its sender.
        verifiers: Names of those that are configured: nobody else proves a mailbox.
        heartbeats: Where heartbeats are stored; in memory if ``None``.
        suppression: Keeps out who asked to be forgotten; without it nobody did.
        refuted: Knows from which mailboxes mail came back; without it from none.
        metrics: Where both count, and their spans go.
    """

    def __init__(
        self,
        streams: Streams,
        bus: Bus,
        open_work: OpenWork,
        clock: Clock,
        *,
        restart_work: bool,
        receipts: Receipts,
        verifiers: Collection[str],
        real: Clock | None = None,
        heartbeats: Heartbeats | None = None,
        suppression: SuppressionFilter | None = None,
        refuted: RefutedMailboxes | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        real = real or clock
        heartbeats = heartbeats or MemoryHeartbeats(real.monotonic)
        self._recorder = OutcomeRecorder(
            streams,
            bus,
            clock,
            heartbeats,
            receipts=receipts,
            verifiers=verifiers,
            suppression=suppression,
            refuted=refuted,
            metrics=metrics,
        )
        self._driver = Driver(
            streams,
            open_work,
            clock,
            heartbeats,
            restart_work=restart_work,
            real=real,
            metrics=metrics,
            refuted=refuted,
        )
        self._gate = VersionGate("driver")

    @property
    def forged(self) -> int:
        """Return how many outcomes were refused since the start."""
        return self._recorder.forged

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run(), name="outcomes")
            tasks.create_task(self._gate.until_read(self._driver.run), name="driver")

    def in_flight(self) -> frozenset[AttemptId]:
        """Return the work that was issued and is not answered yet."""
        return self._driver.in_flight()

    def at_rest(self, head: int) -> bool:
        """Return whether all up to *head* is noted and no timer is due."""
        return self._driver.at_rest(head)

    def next_due(self) -> datetime | None:
        """Return when the first timer is due."""
        return self._driver.next_due()
