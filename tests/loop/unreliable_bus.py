"""A bus that keeps its promise and no more: at least once, in order for each key."""

import random
from collections.abc import Mapping

from cs.bus.memory import MemoryBus
from cs.bus.port import NO_HEADERS
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.pipeline.process_manager import GROUP


class UnreliableBus(MemoryBus):
    """Hands over some records twice, and some late, after records of other keys."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__([(OUTCOMES, GROUP), *((t, name) for name, t in STAGE_TOPICS.items())])
        self._chance = chance
        self._late: list[tuple[str, bytes, bytes, Mapping[str, str]]] = []
        self.twice = 0

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        await super().publish(topic, key=key, value=value, headers=headers)
        if self._chance.random() < 0.4:
            self._late.append((topic, key, value, headers))
        if self._late and self._chance.random() < 0.6:
            again = self._late.pop(self._chance.randrange(len(self._late)))
            self.twice += 1
            await super().publish(again[0], key=again[1], value=again[2], headers=again[3])
