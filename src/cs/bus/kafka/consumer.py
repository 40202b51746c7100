"""One life of one consumer: joined to a group, fed to `Assigned`, committed, left."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
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

from cs.bus.kafka.assigned import Assigned
from cs.bus.kafka.settings import KafkaSettings, connection
from cs.bus.port import BusUnavailable, Record

log = get_logger()

#: Commits are sent together, at most this often.
COMMIT_EVERY_S = 0.1
#: How long records in hand are waited for when their partitions are taken away.
REVOKE_S = 5.0
#: How long brokers may take to hear of a topic that was just made.
TOPIC_S = 3.0
#: How long a commit, or leaving the group, may take.
REQUEST_S = 5.0


class Consumer:
    """A member of *group*; what it receives stands in *assigned*.

    Args:
        happened: Called when a record came, and when partitions did.

    Attributes:
        rebalancing: Whether it waits for its partitions.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        group: str,
        assigned: Assigned,
        happened: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._topic = topic
        self._name = settings.on_broker(topic)
        self._group = settings.on_broker(group)
        self._assigned = assigned
        self._happened = happened
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
            **connection(self._settings),
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
            self._assigned.hold()
            await self._commit_now()
            await leave(self._consumer)
            self._assigned.withdraw()

    async def receive(self) -> NoReturn:
        """Take records for ever, whatever work is going on.

        Raises:
            KafkaError: The client cannot go on.
        """
        while True:
            found = await self._consumer.getone()
            if self._assigned.receive(_record(self._topic, found)):
                self._consumer.pause(TopicPartition(self._name, found.partition))
            self._happened()

    async def commit(self) -> NoReturn:
        """Commit what is finished, for ever."""
        while True:
            await self._finished.wait()
            await asyncio.sleep(COMMIT_EVERY_S)
            self._finished.clear()
            await self._commit()

    def finish(self, record: Record) -> None:
        """Count *record* as done; its commit follows."""
        if self._assigned.finish(record):
            with suppress(IllegalStateError):  # it is being taken away
                self._consumer.resume(TopicPartition(self._name, record.partition))
        self._finished.set()

    async def in_hand_done(self, within_s: float) -> None:
        """Return once nothing is in hand, or after *within_s* seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self._assigned.in_hand:
                    self._finished.clear()
                    await self._finished.wait()

    async def _start(self) -> None:
        try:
            async with asyncio.timeout(self._settings.request_timeout_s):
                await self._consumer.start()
                there = await self._topic_is_there()
        except (KafkaError, TimeoutError) as error:
            raise BusUnavailable(f"{self._topic}: {error or 'no answer in time'}") from error
        if not there:
            raise BusUnavailable(
                f"there is no topic {self._name!r}; `cs topics apply` makes what is missing"
            )
        self._consumer.subscribe([self._name], listener=_Listener(self._revoked, self._got))

    async def _topic_is_there(self) -> bool:
        give_up = time.monotonic() + TOPIC_S
        while self._name not in await self._consumer.topics():
            if time.monotonic() > give_up:
                return False
            await asyncio.sleep(0.1)
        return True

    async def _revoked(self) -> None:
        self.rebalancing = True
        self._assigned.hold()
        await self.in_hand_done(REVOKE_S)
        await self._commit_now()
        self._assigned.withdraw()

    def _got(self, partitions: Iterable[int]) -> None:
        self._assigned.assign(partitions)
        self.rebalancing = False
        self._happened()

    async def _commit_now(self) -> None:
        try:
            async with asyncio.timeout(REQUEST_S):
                await self._commit()
        except (TimeoutError, KafkaError) as error:
            log.warning("kafka_commit_failed", topic=self._topic, why=str(error))

    async def _commit(self) -> None:
        async with self._committing:
            offsets = self._assigned.to_commit()
            if not offsets:
                return
            named = {TopicPartition(self._name, p): offset for p, offset in offsets.items()}
            try:
                await self._consumer.commit(named)
            except (CommitFailedError, IllegalStateError) as error:
                # The partitions are another's by now; the records come to it again.
                log.info("kafka_commit_too_late", topic=self._topic, why=str(error))
            else:
                self._assigned.committed(offsets)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc,unused-ignore]  # aiokafka insists on it
    def __init__(
        self, revoked: Callable[[], Any], got: Callable[[Iterable[int]], None]
    ) -> None:
        self._revoked = revoked
        self._got = got

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        del revoked  # all of them: rebalances are eager
        await self._revoked()

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._got([each.partition for each in assigned])


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
