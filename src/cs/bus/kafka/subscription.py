"""What one member of a group reads, through as many consumers as it takes."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NoReturn

import msgspec
from aiokafka.errors import KafkaError  # type: ignore[import-untyped,unused-ignore]
from structlog import get_logger

from cs.bus.errors import BusRefused, BusStuck, BusUnavailable
from cs.bus.kafka.availability import RETRY_S, Outage, check_available
from cs.bus.kafka.consumer import Consumer, lag
from cs.bus.kafka.partition_assignment import PartitionAssignment
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.port import Record
from cs.runtime.coordination import run_cancellable

log = get_logger()


class SubscriptionMeasures(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    group: str
    partitions: int  # this member's
    paused: int  # of these, with as many records in flight as are allowed
    in_flight: int  # records received and not done
    in_hand: int  # of these, delivered to a stage
    idle_s: float  # since anything moved
    rebuilt: int  # consumers that were replaced
    lag: int | None  # records of this member's partitions not done; None: Kafka is away


class KafkaSubscription:
    """Implements `cs.bus.port.Subscription`.

    Attributes:
        outage: What it waits for.
    """

    def __init__(self, settings: KafkaSettings, topic: str, group: str) -> None:
        self._settings = settings
        self._topic = topic
        self._group = group
        self._assignment = PartitionAssignment(settings.in_flight)
        self._changed = asyncio.Event()
        self._first_joined = asyncio.Event()
        self.outage = Outage(topic=topic, group=group)
        self._consumer = self._new_consumer()
        self._progress_at = time.monotonic()
        self._rebuilt = 0
        self._received_since_rebuild = True  # since the last consumer was built

    @asynccontextmanager
    async def opened(self, drain_s: float) -> AsyncIterator["KafkaSubscription"]:
        """Be a member until left; see `cs.bus.port.Bus.subscribe`.

        Waits for a Kafka that is away, and for a topic that is missing.

        Raises:
            BusRefused: Kafka turned us away before it ever let us in.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                consuming = tasks.create_task(self._consume(), name=f"kafka-{self._group}")
                try:
                    await self._first_joined.wait()
                    yield self
                finally:
                    self._assignment.stop_delivery()
                    await self._consumer.drain(drain_s)
                    consuming.cancel()
        except BaseExceptionGroup as group:
            # One thing went wrong, ours or the caller's: it is raised as itself.
            only = _only(group)
            raise only from only.__cause__

    async def __aiter__(self) -> AsyncIterator[Record]:
        while True:
            record = self._assignment.next_record()
            if record is None:
                self._changed.clear()
                await self._changed.wait()
            else:
                yield record

    async def commit(self, record: Record) -> None:
        self._progress_at = time.monotonic()
        self._consumer.mark_done(record)

    async def measure(self, *, ask: bool = True) -> SubscriptionMeasures:
        """Return what the operator wants to see; with *ask* asks Kafka for the lag."""
        mine = self._assignment.partitions
        behind = None
        if ask and self._first_joined.is_set():
            with suppress(BusUnavailable):
                behind = await lag(self._settings, self._topic, self._group, partitions=mine)
        return SubscriptionMeasures(
            topic=self._topic,
            group=self._group,
            partitions=len(mine),
            paused=len(self._assignment.paused),
            in_flight=self._assignment.in_flight,
            in_hand=self._assignment.delivered,
            idle_s=time.monotonic() - self._progress_at,
            rebuilt=self._rebuilt,
            lag=None if behind is None else sum(behind.values()),
        )

    def _new_consumer(self) -> Consumer:
        return Consumer(
            self._settings, self._topic, self._group, self._assignment, self._on_progress
        )

    def _on_progress(self) -> None:
        self._progress_at = time.monotonic()
        self._received_since_rebuild = (
            self._received_since_rebuild or self._assignment.in_flight > 0
        )
        self._changed.set()

    async def _consume(self) -> NoReturn:
        while True:
            try:
                await check_available(self._settings)
                await run_cancellable(self._run_one_consumer())
            except* (KafkaError, BusStuck) as group:
                self._note_rebuild(group)
            except* BusUnavailable as group:
                self._note_outage(group)
                await asyncio.sleep(RETRY_S)
            self._consumer = self._new_consumer()

    async def _run_one_consumer(self) -> NoReturn:
        async with self._consumer.joined(), asyncio.TaskGroup() as tasks:
            self._progress_at = time.monotonic()
            self._first_joined.set()
            self.outage.end()
            tasks.create_task(self._consumer.receive(), name="kafka-receive")
            tasks.create_task(self._consumer.commit(), name="kafka-commit")
            tasks.create_task(self._watch_progress(), name="kafka-watch")
        raise AssertionError("its tasks run for ever")

    def _note_outage(self, fault: BaseExceptionGroup[BusUnavailable]) -> None:
        """Note that Kafka is away.

        Raises:
            BusRefused: It turned us away, and never let us in before.
        """
        why = fault.exceptions[0]
        if isinstance(why, BusRefused) and not self._first_joined.is_set():
            raise why from why.__cause__
        self.outage.report(why)

    def _note_rebuild(self, fault: BaseExceptionGroup[KafkaError | BusStuck]) -> None:
        """Note that a new consumer follows.

        Raises:
            BusStuck: The last one was built for such a fault too, and received nothing.
        """
        why = fault.exceptions[0]
        if not self._received_since_rebuild:
            raise BusStuck(f"{self._topic}: {why or type(why).__name__}") from why
        self._received_since_rebuild = False
        self._rebuilt += 1
        log.warning("kafka_consumer_rebuilt", topic=self._topic, why=repr(why))

    async def _watch_progress(self) -> NoReturn:
        """Raise `BusStuck` if records wait and none arrives (aiokafka issue 1154)."""
        limit = self._settings.stuck_after_s
        while True:
            await asyncio.sleep(limit / 4)
            progress_at = self._progress_at
            if self._assignment.in_flight or time.monotonic() - progress_at < limit:
                continue
            waiting = await self._waiting()
            if waiting and self._progress_at == progress_at:
                raise BusStuck(f"{waiting} records of {self._topic} wait, and none arrives")
            self._progress_at = time.monotonic()

    async def _waiting(self) -> int:
        mine = None if self._consumer.rebalancing else self._assignment.partitions
        try:
            behind = await lag(self._settings, self._topic, self._group, partitions=mine)
        except BusUnavailable:
            return 0  # no member gets anything now
        return sum(behind.values())


def _only(error: BaseException) -> BaseException:
    """Return the one error inside *error*; *error* itself if there are several."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
