"""One consumer: joins a group, receives records, commits what is done, leaves; and its lag."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, NoReturn

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

from cs.bus.errors import BusUnavailable
from cs.bus.kafka.partition_assignment import PartitionAssignment
from cs.bus.kafka.settings import KafkaSettings, client_options
from cs.bus.port import Record

log = get_logger()

#: Commits are sent together, at most this often.
COMMIT_EVERY_S = 0.1
#: How long delivered records are waited for when their partitions are revoked.
REVOKE_S = 5.0
#: How long brokers may take to know of a topic that was just made.
TOPIC_S = 3.0
#: How long a commit, or leaving the group, may take.
REQUEST_S = 5.0


class Consumer:
    """A member of *group*; what it receives goes to *assignment*.

    Args:
        on_progress: Called when a record came, and when partitions did.

    Attributes:
        rebalancing: Whether it waits for its partitions.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        group: str,
        assignment: PartitionAssignment,
        on_progress: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._name = settings.on_broker(topic)
        self._group = settings.on_broker(group)
        self._assignment = assignment
        self._on_progress = on_progress
        self._finished = asyncio.Event()
        self._committing = asyncio.Lock()
        self._consumer: AIOKafkaConsumer
        self.rebalancing = True

    @asynccontextmanager
    async def joined(self) -> AsyncIterator[None]:
        """Join the group until left, when what can be committed is.

        Raises:
            BusUnavailable: Kafka cannot be reached, or has no such topic.
        """
        self._consumer = AIOKafkaConsumer(
            **client_options(self._settings),
            group_id=self._group,
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

    async def receive(self) -> NoReturn:
        """Take records for ever, whatever work is going on.

        Raises:
            KafkaError: The client cannot go on.
        """
        while True:
            found = await self._consumer.getone()
            if self._assignment.receive(_record(self._topic, found)):
                self._consumer.pause(TopicPartition(self._name, found.partition))
            self._on_progress()

    async def commit(self) -> NoReturn:
        """Commit what is finished, for ever."""
        while True:
            await self._finished.wait()
            await asyncio.sleep(COMMIT_EVERY_S)
            self._finished.clear()
            await self._commit()

    def mark_done(self, record: Record) -> None:
        """Count *record* as done; its commit follows."""
        if self._assignment.mark_done(record):
            with suppress(IllegalStateError):  # it is being taken away
                self._consumer.resume(TopicPartition(self._name, record.partition))
        self._finished.set()

    async def drain(self, within_s: float) -> None:
        """Return once all that was delivered is done, or after *within_s* seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self._assignment.delivered:
                    self._finished.clear()
                    await self._finished.wait()

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
        self._consumer.subscribe(
            [self._name], listener=_Listener(self._on_revoked, self._on_assigned)
        )

    async def _topic_exists(self) -> bool:
        give_up = time.monotonic() + TOPIC_S
        while self._name not in await self._consumer.topics():
            if time.monotonic() > give_up:
                return False
            await asyncio.sleep(0.1)
        return True

    async def _on_revoked(self) -> None:
        self.rebalancing = True
        self._assignment.drop_undelivered()
        await self.drain(REVOKE_S)
        await self._commit_now()
        self._assignment.revoke()

    def _on_assigned(self, partitions: Iterable[int]) -> None:
        self._assignment.assign(partitions)
        self.rebalancing = False
        self._on_progress()

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


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc,unused-ignore]  # aiokafka insists on it
    def __init__(
        self, on_revoked: Callable[[], Any], on_assigned: Callable[[Iterable[int]], None]
    ) -> None:
        self._on_revoked = on_revoked
        self._on_assigned = on_assigned

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        del revoked  # all of them: rebalances are eager
        await self._on_revoked()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._on_assigned([each.partition for each in assigned])


def _record(topic: str, found: Any) -> Record:
    headers = {name: (value or b"").decode(errors="replace") for name, value in found.headers}
    return Record(
        topic, found.partition, found.offset, found.key or b"", found.value or b"", headers
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
