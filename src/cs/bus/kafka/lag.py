"""How far a group is behind, asked with a connection of its own.

So the answer does not depend on a consumer that may hang.
"""

import asyncio
from collections.abc import Collection

from aiokafka import AIOKafkaConsumer, TopicPartition  # type: ignore[import-untyped,unused-ignore]
from aiokafka.errors import KafkaError  # type: ignore[import-untyped,unused-ignore]

from cs.bus.errors import BusUnavailable
from cs.bus.kafka.consumer import leave
from cs.bus.kafka.settings import KafkaSettings, client_options


async def lag(
    settings: KafkaSettings,
    topic: str,
    group: str,
    *,
    partitions: Collection[int] | None = None,
) -> dict[int, int]:
    """Return for each partition how many records after the committed offset there are.

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
