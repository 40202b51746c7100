"""Publishes to Kafka: acknowledged by all replicas, in order, in bounded time."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress

from aiokafka import AIOKafkaProducer  # type: ignore[import-untyped,unused-ignore]
from aiokafka.errors import (  # type: ignore[import-untyped,unused-ignore]
    KafkaError,
    MessageSizeTooLargeError,
    UnknownTopicOrPartitionError,
)
from structlog import get_logger

from cs.bus.kafka.settings import KafkaSettings, client_options
from cs.bus.port import BusUnavailable

log = get_logger()

#: How long a producer that is given up may take to hand over what it still has.
DISCARD_S = 5.0
#: Nothing was published for this long although it was tried: a new producer tries.
STALE_S = 30.0
#: Raised before a record is accepted, so they say nothing about the producer.
REJECTED = (MessageSizeTooLargeError, UnknownTopicOrPartitionError)


class Publisher:
    """Connects when first used, so that a service starts while Kafka is away.

    A producer with idempotence numbers its batches.  Once a broker refuses one for its
    number, or its sending task has died, it never sends again and does not say so in time
    (aiokafka issue 1017): it is replaced, and what it failed on is published once more.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._producer: AIOKafkaProducer | None = None
        self._starting = asyncio.Lock()
        self._discards: set[asyncio.Task[None]] = set()
        self._published_at = time.monotonic()

    async def close(self) -> None:
        """Hand over what was taken, if it can be."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await discard(producer)
        await asyncio.gather(*self._discards)

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str]
    ) -> None:
        """Return once all replicas have the record.

        Raises:
            BusUnavailable: They did not say so within ``publish_timeout_s``.
        """
        encoded = [(name, text.encode()) for name, text in headers.items()]
        try:
            async with asyncio.timeout(self._settings.publish_timeout_s):
                await self._send(topic, key, value, encoded)
        except TimeoutError as error:
            self._replace_if_stale()
            raise BusUnavailable(f"{topic}: Kafka did not take a record in time") from error
        except KafkaError as error:
            raise BusUnavailable(f"{topic}: {error}") from error
        self._published_at = time.monotonic()

    async def _send(
        self, topic: str, key: bytes, value: bytes, headers: list[tuple[str, bytes]]
    ) -> None:
        for last in (False, True):
            producer = await self._start_once()
            try:
                await producer.send_and_wait(topic, value, key=key, headers=headers)
            except REJECTED:
                raise
            except KafkaError as error:
                self._replace(producer, type(error).__name__)
                if last:
                    raise
            else:
                return

    async def _start_once(self) -> AIOKafkaProducer:
        async with self._starting:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    **client_options(self._settings),
                    acks="all",
                    enable_idempotence=True,
                    linger_ms=0,
                )
                try:
                    await producer.start()
                except BaseException:
                    await discard(producer)
                    raise
                self._producer = producer
                self._published_at = time.monotonic()
            return self._producer

    def _replace_if_stale(self) -> None:
        """Replace the producer if it has been of no use for long, or cannot be any more."""
        producer = self._producer
        if producer is None:
            return
        sending = producer._sender.sender_task  # noqa: SLF001  nothing else says it is dead
        if sending is None or sending.done():
            self._replace(producer, "sender_ended")
        elif time.monotonic() - self._published_at > STALE_S:
            self._replace(producer, "nothing_published")

    def _replace(self, producer: AIOKafkaProducer, why: str) -> None:
        if producer is self._producer:
            log.warning("kafka_producer_replaced", why=why)
            self._producer = None
            # No task group, which would wrap the errors of the bus's users.
            task = asyncio.create_task(discard(producer), name="kafka-discard")
            self._discards.add(task)
            task.add_done_callback(self._discards.discard)


async def discard(producer: AIOKafkaProducer) -> None:
    """Close *producer* within a few seconds, whatever state it is in."""
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(DISCARD_S):
            await producer.stop()
            return
    # It waits to hand over what no broker will take: what is its own is closed by hand.
    with suppress(TimeoutError, KafkaError):
        async with asyncio.timeout(DISCARD_S):
            await producer._sender.close()  # noqa: SLF001
    await producer.client.close()
