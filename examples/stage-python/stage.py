"""A stage of contact-search that speaks only Kafka: it reads work, answers, and commits last.

All that is the same for every stage is here; what this one finds is in ranking.py.  Nothing of
the service is imported: what it relies on is told in docs/topics.md, "Writing a stage".

Takes the service's own names from the environment: CS_KAFKA (host:port of some brokers,
separated by commas), CS_KAFKA_PREFIX, CS_KAFKA_TLS, CS_KAFKA_CA_FILE, CS_KAFKA_SASL,
CS_KAFKA_USERNAME, CS_KAFKA_PASSWORD.
"""

import asyncio
import json
import signal
import sys
from datetime import UTC, datetime
from os import environ
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import CommitFailedError, IllegalStateError
from aiokafka.helpers import create_ssl_context

from ranking import STAGE, answer

PREFIX = environ.get("CS_KAFKA_PREFIX", "")
WORK = f"{PREFIX}cs.{STAGE}.v1"
OUTCOMES = f"{PREFIX}cs.outcomes.v1"
DEAD_LETTERS = f"{PREFIX}cs.dead-letters.v1"
GROUP = f"{PREFIX}{STAGE}"
#: After 20 s of silence the work is given to somebody else.
ALIVE_EVERY_S = 5.0
#: What is not finished by then is another worker's.
LEAVE_WITHIN_S = 5.0

Headers = list[tuple[str, bytes]]


class NoWork(ValueError):
    """A record that is not the work of this stage."""


def read_work(value: bytes) -> dict[str, Any]:
    """Return the work in *value*; a newer field does no harm.

    Raises:
        ValueError: It is none.
    """
    work = json.loads(value)
    if not isinstance(work, dict):
        raise NoWork("no object")
    given = work.get("input")
    if work.get("stage") != STAGE or not isinstance(given, dict) or given["type"] != STAGE:
        raise NoWork("not the work of this stage")
    if not isinstance(work["lookup"], str) or not isinstance(work["attempt"], int):
        raise NoWork("a field is of another type")
    if not isinstance(given["people"], list):
        raise NoWork("people are no list")
    datetime.fromisoformat(work["deadline_at"])
    return work


async def finding_of(work: dict[str, Any]) -> dict[str, Any]:
    """Do *work* and return its result, or how the attempt failed; never raises."""
    left = datetime.fromisoformat(work["deadline_at"]) - datetime.now(UTC)
    try:
        async with asyncio.timeout(left.total_seconds()):
            return await answer(work["input"])
    except TimeoutError:
        return {"type": "failed", "why": "timeout", "retryable": True}
    except Exception as error:
        # Only the kind of error: its words may name a person, and logs are no place for them.
        print(f"bug in {work['lookup']}: {type(error).__name__}", file=sys.stderr)
        return {"type": "failed", "why": "bug", "retryable": True}


class Worker:
    """Answers one record after the other of each partition, partitions side by side."""

    def __init__(self, producer: AIOKafkaProducer, consumer: AIOKafkaConsumer) -> None:
        self._producer, self._consumer = producer, consumer
        self.stopping = asyncio.Event()

    async def run(self) -> None:
        """Work until `stopping` is set; then finish what is in hand, for a while."""
        stopping = asyncio.create_task(self.stopping.wait())
        while not self.stopping.is_set():
            step = asyncio.create_task(self._step())
            await asyncio.wait({step, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self.stopping.is_set():
                await asyncio.wait({step}, timeout=LEAVE_WITHIN_S)
                step.cancel()
            else:
                step.result()  # Kafka stays away: whoever started us starts us again

    async def _step(self) -> None:
        read = await self._consumer.getmany(timeout_ms=500)
        await asyncio.gather(*(self._answer(*each) for each in read.items()))

    async def _answer(self, partition: TopicPartition, records: list[ConsumerRecord]) -> None:
        for record in records:
            if self.stopping.is_set():
                return  # not committed: another worker is given it
            await self._handle(record)
            try:
                await self._consumer.commit({partition: record.offset + 1})  # the next one
            except (CommitFailedError, IllegalStateError):
                return  # the partition is another worker's by now, which answers alike

    async def _handle(self, record: ConsumerRecord) -> None:
        try:
            work = read_work(record.value or b"")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            await self._send_dead_letter(record, error)
            return
        headers = [("attempt", str(work["attempt"]).encode()), ("schema", b"cs.outcome.v1")]
        headers += [each for each in record.headers if each[0] == "traceparent"]
        lives = asyncio.create_task(self._say_alive(work, headers))
        try:
            await self._say(work, headers, await finding_of(work))
        finally:
            lives.cancel()

    async def _say_alive(self, work: dict[str, Any], headers: Headers) -> None:
        while True:
            await asyncio.sleep(ALIVE_EVERY_S)
            await self._say(work, headers, {"type": "alive"})

    async def _say(self, work: dict[str, Any], headers: Headers, found: object) -> None:
        """Send what was found; return once all replicas have it."""
        named = {name: work[name] for name in ("lookup", "stage", "attempt")}
        outcome = named | {"item": work.get("item", ""), "receipt": work.get("receipt", "")}
        value = json.dumps(outcome | {"finding": found}).encode()
        key = work["lookup"].encode()
        await self._producer.send_and_wait(OUTCOMES, value, key=key, headers=headers)

    async def _send_dead_letter(self, record: ConsumerRecord, error: Exception) -> None:
        said = {
            "topic": record.topic,
            "partition": str(record.partition),
            "offset": str(record.offset),
            "error": type(error).__name__,
        }
        headers = [(name, text.encode()) for name, text in said.items()]
        await self._producer.send_and_wait(
            DEAD_LETTERS, record.value, key=record.key, headers=headers
        )


class Told(ConsumerRebalanceListener):
    """Says which partitions are ours."""

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Nothing to do: what is in hand is finished, and its second answer does no harm."""

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        print(f"{STAGE} runs, with {len(assigned)} partitions", file=sys.stderr, flush=True)


def connection() -> dict[str, Any]:
    """Return how brokers are reached, for aiokafka."""
    tls = environ.get("CS_KAFKA_TLS") in {"1", "true"}
    sasl = environ.get("CS_KAFKA_SASL")
    found: dict[str, Any] = {
        "bootstrap_servers": environ.get("CS_KAFKA", "127.0.0.1:9092").split(","),
        "client_id": f"{STAGE}-python",
        "security_protocol": ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT"),
    }
    if tls:
        found["ssl_context"] = create_ssl_context(cafile=environ.get("CS_KAFKA_CA_FILE"))
    if sasl:
        found["sasl_mechanism"] = sasl
        found["sasl_plain_username"] = environ["CS_KAFKA_USERNAME"]
        found["sasl_plain_password"] = environ["CS_KAFKA_PASSWORD"]
    return found


async def main() -> None:
    # Its partitioner is murmur2 over the key, as every producer of the service has it.
    producer = AIOKafkaProducer(**connection(), acks="all", enable_idempotence=True)
    consumer = AIOKafkaConsumer(
        **connection(),
        group_id=GROUP,
        enable_auto_commit=False,
        auto_offset_reset="earliest",  # where nobody committed
    )
    consumer.subscribe([WORK], listener=Told())
    worker = Worker(producer, consumer)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stopping.set)
    async with producer, consumer:
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main())
