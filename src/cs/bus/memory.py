"""The bus inside one process.  It forgets everything on restart: the log issues again.

Records that name an API key in the header `ASKED_BY` are given out in turns: of the keys whose
records wait, the one that was served least recently is next.  So one key's list of brands
delays the search of another by one record at most, however many wait.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress

from cs.bus.headers import ASKED_BY
from cs.bus.port import NO_HEADERS, BusUnavailable, Record
from cs.metrics.metrics import Metrics
from cs.runtime.lru import LruDict

#: Records waiting in one group of a topic; publishing waits beyond it.
WAITING = 10_000
#: How long publishing waits for room.
PUBLISH_TIMEOUT_S = 10.0
#: Keys of which a group remembers when they were served; another one counts as never served.
SERVED = 10_000


class MemoryBus:
    """Knows its *groups*, (topic, name) each, from the start, so that nothing is missed.

    Args:
        waiting: Records that may wait in one group of a topic; `WAITING` if ``None``.
        metrics: Where it says how many records wait.
    """

    def __init__(
        self,
        groups: Iterable[tuple[str, str]] = (),
        *,
        waiting: int | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._limit = waiting
        self._groups: dict[str, dict[str, MemoryGroup]] = {}
        waits = (metrics or Metrics()).bus_waiting
        for topic, name in groups:
            group = self._groups.setdefault(topic, {})[name] = MemoryGroup(waiting)
            waits.measure(group.__len__, topic, name)
        self._offsets: dict[str, int] = {}

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + 1
        record = Record(topic, 0, offset, key, value, headers)
        for group in self._groups.get(topic, {}).values():
            await group.put(record)

    @asynccontextmanager
    async def subscribe(
        self, topic: str, *, group: str, drain_s: float = 0.0
    ) -> AsyncIterator["MemorySubscription"]:
        records = self._groups.setdefault(topic, {}).setdefault(group, MemoryGroup(self._limit))
        subscription = MemorySubscription(records)
        try:
            yield subscription
        finally:
            try:
                await subscription.drain(drain_s)
            finally:
                await records.put_back(subscription.delivered)


class MemoryGroup:
    """The records of one topic that one group has not done yet."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._waiting: dict[str, deque[Record]] = {}  # by the key that asked
        self._served = LruDict[str, int](SERVED)  # key -> turn
        self._turn = 0
        self._changed = asyncio.Condition()

    async def put(self, record: Record) -> None:
        limit = WAITING if self._limit is None else self._limit
        async with self._changed:
            try:
                async with asyncio.timeout(PUBLISH_TIMEOUT_S):
                    await self._changed.wait_for(lambda: len(self) < limit)
            except TimeoutError as error:
                raise BusUnavailable(f"{record.topic}: {limit} records wait") from error
            self._of(record).append(record)
            self._changed.notify_all()

    def __len__(self) -> int:
        """Return how many records wait."""
        return sum(map(len, self._waiting.values()))

    async def take(self) -> Record:
        async with self._changed:
            await self._changed.wait_for(lambda: bool(self._waiting))
            asked_by = min(self._waiting, key=lambda each: self._served.get(each, 0))
            records = self._waiting[asked_by]
            record = records.popleft()
            if not records:
                del self._waiting[asked_by]
            self._turn += 1
            self._served[asked_by] = self._turn
            self._changed.notify_all()
            return record

    def _of(self, record: Record) -> deque[Record]:
        """Return the records that wait for the same key as *record*, oldest first."""
        return self._waiting.setdefault(record.headers.get(ASKED_BY, ""), deque())

    async def put_back(self, records: Mapping[int, Record]) -> None:
        """Put uncommitted records back in front, in order: they come again."""
        async with self._changed:
            for offset in sorted(records, reverse=True):
                self._of(records[offset]).appendleft(records[offset])
            self._changed.notify_all()


class MemorySubscription:
    away = None

    def __init__(self, group: MemoryGroup) -> None:
        self._group = group
        self._finished = asyncio.Event()
        self.delivered: dict[int, Record] = {}

    def keeps(self, _: Record) -> bool:
        return True

    async def __aiter__(self) -> AsyncIterator[Record]:
        while True:
            record = await self._group.take()
            self.delivered[record.offset] = record
            yield record

    async def commit(self, record: Record) -> None:
        self.delivered.pop(record.offset, None)
        self._finished.set()

    async def drain(self, within_s: float) -> None:
        """Return once all that was delivered is done, or after *within_s* seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.delivered:
                    self._finished.clear()
                    await self._finished.wait()
