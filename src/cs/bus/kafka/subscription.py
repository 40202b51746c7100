"""One member of a group: joins, receives records, commits what is done, leaves; and its lag.

A consumer of the client that fails or hangs is replaced by a new one.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, NoReturn

import msgspec
from aiokafka import (  # type: ignore[import-untyped,unused-ignore]
    AIOKafkaConsumer,
    ConsumerRebalanceListener,
    TopicPartition,
)
from aiokafka.errors import (  # type: ignore[import-untyped,unused-ignore]
    CommitFailedError,
    IllegalStateError,
    KafkaError,
)
from structlog import get_logger

from cs.bus.kafka.availability import RETRY_S, Outage, check_available
from cs.bus.kafka.partition_assignment import PartitionAssignment
from cs.bus.kafka.settings import KafkaSettings, client_options
from cs.bus.port import BusRefused, BusStuck, BusUnavailable, Record
from cs.runtime.coordination import run_cancellable

log = get_logger()

#: Commits are sent together, at most this often.
COMMIT_EVERY_S = 0.1
#: How long delivered records are waited for when their partitions are revoked.
REVOKE_S = 5.0
#: How long brokers may take to know of a topic that was just made.
TOPIC_S = 3.0
#: How long a commit, or leaving the group, may take.
REQUEST_S = 5.0
#: The last timestamp of a record that is a date, in milliseconds: the year 9999.
_LAST_MS = 253_402_300_799_000


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


class KafkaSubscription(ConsumerRebalanceListener):  # type: ignore[misc,unused-ignore]
    """Implements `cs.bus.port.Subscription`.

    Attributes:
        outage: What it waits for.
        rebalancing: Whether it waits for its partitions.
    """

    def __init__(self, settings: KafkaSettings, topic: str, group: str) -> None:
        self._settings = settings
        self._topic = topic
        self._group = group
        self._name = settings.on_broker(topic)
        self._assignment = PartitionAssignment(settings.in_flight)
        self._received = asyncio.Event()
        self._finished = asyncio.Event()
        self._committing = asyncio.Lock()
        self._first_joined = asyncio.Event()
        self._consumer: AIOKafkaConsumer
        self._progress_at = time.monotonic()
        self._rebuilt = 0
        self._received_since_rebuild = True  # since the last consumer was built
        self.outage = Outage(topic=topic, group=group)
        self.rebalancing = True

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
                    await self._drain(drain_s)
                    consuming.cancel()
        except BaseExceptionGroup as group:
            # One thing went wrong, ours or the caller's: it is raised as itself.
            only = _only(group)
            raise only from only.__cause__

    async def __aiter__(self) -> AsyncIterator[Record]:
        while True:
            record = self._assignment.next_record()
            if record is None:
                self._received.clear()
                await self._received.wait()
            else:
                yield record

    @property
    def away(self) -> str | None:
        return self.outage.why

    def keeps(self, record: Record) -> bool:
        return record.partition in self._assignment.partitions

    async def commit(self, record: Record) -> None:
        self._progress_at = time.monotonic()
        if self._assignment.mark_done(record):
            with suppress(IllegalStateError):  # it is being taken away
                self._consumer.resume(TopicPartition(self._name, record.partition))
        self._finished.set()

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

    # Consumers, one after the other.

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

    async def _run_one_consumer(self) -> NoReturn:
        async with self._joined(), asyncio.TaskGroup() as tasks:
            self._progress_at = time.monotonic()
            self._first_joined.set()
            self.outage.end()
            tasks.create_task(self._receive(), name="kafka-receive")
            tasks.create_task(self._commit_finished(), name="kafka-commit")
            tasks.create_task(self._watch_progress(), name="kafka-watch")
        raise AssertionError("its tasks run for ever")

    @asynccontextmanager
    async def _joined(self) -> AsyncIterator[None]:
        """Be a member until left, when what can be committed is.

        Raises:
            BusUnavailable: Kafka cannot be reached, or has no such topic.
        """
        self.rebalancing = True
        self._consumer = AIOKafkaConsumer(
            **client_options(self._settings),
            group_id=self._settings.on_broker(self._group),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=int(self._settings.session_timeout_s * 1000),
            rebalance_timeout_ms=int(self._settings.rebalance_timeout_s * 1000),
            heartbeat_interval_ms=int(self._settings.session_timeout_s * 1000 / 4),
            retry_backoff_ms=100,
        )
        try:
            await self._start()
            yield
        finally:
            self._assignment.drop_undelivered()
            await self._commit_now()
            await leave(self._consumer)
            self._assignment.revoke()

    async def _start(self) -> None:
        try:
            async with asyncio.timeout(self._settings.request_timeout_s):
                await self._consumer.start()
                there = await self._topic_exists()
        except (KafkaError, TimeoutError) as error:
            raise BusUnavailable(f"{self._topic}: {error or 'no answer in time'}") from error
        if not there:
            raise BusUnavailable(
                f"there is no topic {self._name!r}; `cs topics apply` makes what is missing"
            )
        self._consumer.subscribe([self._name], listener=self)

    async def _topic_exists(self) -> bool:
        give_up = time.monotonic() + TOPIC_S
        while self._name not in await self._consumer.topics():
            if time.monotonic() > give_up:
                return False
            await asyncio.sleep(0.1)
        return True

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        del revoked  # all of them: rebalances are eager
        self.rebalancing = True
        self._assignment.drop_undelivered()
        await self._drain(REVOKE_S)
        await self._commit_now()
        self._assignment.revoke()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._assignment.assign(each.partition for each in assigned)
        self.rebalancing = False
        self._progress_at = time.monotonic()

    async def _receive(self) -> NoReturn:
        """Take records for ever, whatever work is going on.

        Raises:
            KafkaError: The client cannot go on.
        """
        while True:
            found = await self._consumer.getone()
            if self._assignment.receive(_record(self._topic, found)):
                self._consumer.pause(TopicPartition(self._name, found.partition))
            self._received_since_rebuild = True
            self._progress_at = time.monotonic()
            self._received.set()

    async def _commit_finished(self) -> NoReturn:
        while True:
            await self._finished.wait()
            await asyncio.sleep(COMMIT_EVERY_S)
            self._finished.clear()
            await self._commit()

    async def _drain(self, within_s: float) -> None:
        """Return once all that was delivered is done, or after *within_s* seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self._assignment.delivered:
                    self._finished.clear()
                    await self._finished.wait()

    async def _commit_now(self) -> None:
        try:
            async with asyncio.timeout(REQUEST_S):
                await self._commit()
        except (TimeoutError, KafkaError) as error:
            log.warning("kafka_commit_failed", topic=self._topic, why=str(error))

    async def _commit(self) -> None:
        async with self._committing:
            offsets = self._assignment.committable_offsets()
            if not offsets:
                return
            named = {TopicPartition(self._name, p): offset for p, offset in offsets.items()}
            try:
                await self._consumer.commit(named)
            except (CommitFailedError, IllegalStateError) as error:
                # The partitions are another's by now; the records come to it again.
                log.info("kafka_commit_too_late", topic=self._topic, why=str(error))
            else:
                self._assignment.mark_committed(offsets)

    # Faults.

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
        mine = None if self.rebalancing else self._assignment.partitions
        try:
            behind = await lag(self._settings, self._topic, self._group, partitions=mine)
        except BusUnavailable:
            return 0  # no member gets anything now
        return sum(behind.values())


def _record(topic: str, found: Any) -> Record:
    headers = {name: (value or b"").decode(errors="replace") for name, value in found.headers}
    published = found.timestamp
    return Record(
        topic,
        found.partition,
        found.offset,
        found.key or b"",
        found.value or b"",
        headers,
        datetime.fromtimestamp(published / 1000, UTC) if 0 < published < _LAST_MS else None,
    )


async def leave(consumer: AIOKafkaConsumer) -> None:
    """Leave the group and close *consumer* within a few seconds, whatever state it is in."""
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(REQUEST_S):
            await consumer.stop()
            return
    # It hangs in one of its own waits: what is its own is closed by hand.
    coordinator, fetcher = consumer._coordinator, consumer._fetcher  # noqa: SLF001
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(REQUEST_S):
            if coordinator is not None:
                coordinator._coordination_task.cancel()  # noqa: SLF001
                await coordinator._stop_heartbeat_task()  # noqa: SLF001
                await coordinator._stop_commit_offsets_refresh_task()  # noqa: SLF001
            if fetcher is not None:
                await fetcher.close()
    await consumer._client.close()  # noqa: SLF001


async def lag(
    settings: KafkaSettings,
    topic: str,
    group: str,
    *,
    partitions: Collection[int] | None = None,
) -> dict[int, int]:
    """Return for each partition how many records after the committed offset there are.

    It is asked with a connection of its own, so that it does not depend on a consumer that
    may hang.

    Args:
        settings: Of the bus.
        topic: Without the operator's prefix, as *group*.
        group: One that never committed is behind by all records.
        partitions: All of *topic* if ``None``.

    Raises:
        BusUnavailable: Kafka did not answer within ``request_timeout_s``.
    """
    name = settings.on_broker(topic)
    # It subscribes to nothing, so it joins nothing.
    asking = AIOKafkaConsumer(
        **client_options(settings), group_id=settings.on_broker(group), enable_auto_commit=False
    )
    try:
        async with asyncio.timeout(settings.request_timeout_s):
            await asking.start()
            known = await asking._client._wait_on_metadata(name)  # noqa: SLF001  no other way
            asked = [
                TopicPartition(name, partition)
                for partition in sorted(known)
                if partitions is None or partition in partitions
            ]
            first = await asking.beginning_offsets(asked)
            end = await asking.end_offsets(asked)
            committed = {each: await asking.committed(each) for each in asked}
    except (KafkaError, TimeoutError) as error:
        raise BusUnavailable(f"{topic}: {error or 'no answer in time'}") from error
    finally:
        await leave(asking)
    # What retention removed is not waited for.
    return {
        each.partition: max(0, end[each] - max(committed[each] or 0, first[each]))
        for each in asked
    }


def _only(error: BaseException) -> BaseException:
    """Return the one error inside *error*; *error* itself if there are several."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
