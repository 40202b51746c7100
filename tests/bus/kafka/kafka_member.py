"""Run as a program: a member of a group that prints what it gets and commits nothing."""

import asyncio
import sys

import msgspec

from cs.bus.kafka.bus import KafkaBus
from cs.bus.kafka.settings import KafkaSettings


async def main(settings: KafkaSettings, topic: str, group: str) -> None:
    async with KafkaBus(settings) as bus, bus.subscribe(topic, group=group) as records:
        async for record in records:
            sys.stdout.write(record.value.decode() + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=KafkaSettings)
    asyncio.run(main(given, sys.argv[2], sys.argv[3]))
