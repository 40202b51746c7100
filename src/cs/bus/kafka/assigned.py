"""The partitions a member of a group has now, and the records of them in flight; pure.

A record is in flight from its receipt until it is done; of these, those given out are *in
hand*.  Partitions come and go all at once: the group's rebalances are eager.
"""

from collections import deque
from collections.abc import Iterable

from cs.bus.kafka.lowest_offsets import LowestOffsets
from cs.bus.port import Record


class Assigned:
    """Starts without partitions.

    Args:
        most: Records of one partition in flight at which it pauses; it goes on when three
            quarters of them are left.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._low = most * 3 // 4
        self._offsets: dict[int, LowestOffsets] = {}
        self._committed: dict[int, int] = {}
        self._ready: deque[Record] = deque()
        self._in_hand: set[tuple[int, int]] = set()
        self._paused: set[int] = set()
        self._gives = True

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(self._offsets)

    @property
    def paused(self) -> frozenset[int]:
        return frozenset(self._paused)

    @property
    def in_flight(self) -> int:
        return sum(map(len, self._offsets.values()))

    @property
    def in_hand(self) -> int:
        return len(self._in_hand)

    def assign(self, partitions: Iterable[int]) -> None:
        """Have *partitions*, with nothing in flight."""
        self.withdraw()
        self._offsets = {partition: LowestOffsets() for partition in partitions}

    def withdraw(self) -> None:
        """Have no partitions; what is in hand of them may be finished, to no effect."""
        self._offsets.clear()
        self._committed.clear()
        self._ready.clear()
        self._in_hand.clear()
        self._paused.clear()

    def hold(self) -> None:
        """Give out nothing more of what is here."""
        self._ready.clear()

    def close(self) -> None:
        """Give out nothing ever again."""
        self._gives = False
        self._ready.clear()

    def receive(self, record: Record) -> bool:
        """Take *record*; return whether its partition is to be paused now."""
        offsets = self._offsets.get(record.partition)
        if offsets is None:
            return False
        offsets.take(record.offset)
        if self._gives:
            self._ready.append(record)
        if len(offsets) < self._most or record.partition in self._paused:
            return False
        self._paused.add(record.partition)
        return True

    def give(self) -> Record | None:
        """Return the next record, now in hand; ``None`` if none is here."""
        if not self._ready:
            return None
        record = self._ready.popleft()
        self._in_hand.add((record.partition, record.offset))
        return record

    def finish(self, record: Record) -> bool:
        """Count *record* as done; return whether its partition is to be resumed now."""
        self._in_hand.discard((record.partition, record.offset))
        offsets = self._offsets.get(record.partition)
        if offsets is None:
            return False
        offsets.finish(record.offset)
        if record.partition not in self._paused or len(offsets) > self._low:
            return False
        self._paused.discard(record.partition)
        return True

    def to_commit(self) -> dict[int, int]:
        """Return the next offset of each partition where it is not the committed one."""
        return {
            partition: offset
            for partition, offsets in self._offsets.items()
            if (offset := offsets.to_commit) is not None
            and offset != self._committed.get(partition)
        }

    def committed(self, offsets: dict[int, int]) -> None:
        """Remember that *offsets* are committed."""
        known = {p: offset for p, offset in offsets.items() if p in self._offsets}
        self._committed.update(known)
