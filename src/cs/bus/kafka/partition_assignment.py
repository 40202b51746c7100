"""The partitions that a group's member has now, and their records in flight; pure.

A record is in flight from its receipt until it is done, and *delivered* once the subscriber
has it.  Partitions come and go all at once: the group's rebalances are eager.
"""

from collections import deque
from collections.abc import Iterable

from cs.bus.port import Record


class OffsetTracker:
    """Offsets tracked in rising order, gaps allowed, and done in any order.

    >>> offsets = OffsetTracker()
    >>> for offset in (5, 6, 9):
    ...     offsets.track(offset)
    >>> offsets.mark_done(6)
    >>> offsets.mark_done(9)
    >>> offsets.committable
    5
    >>> offsets.mark_done(5)
    >>> offsets.committable
    10
    """

    def __init__(self) -> None:
        self._unfinished: dict[int, None] = {}  # in rising order
        self._next: int | None = None  # one past the highest tracked

    def __len__(self) -> int:
        """Return how many are unfinished."""
        return len(self._unfinished)

    def track(self, offset: int) -> None:
        """Count *offset* as unfinished.

        Raises:
            ValueError: It is not above all tracked before: the topic was made again or cut
                off, and the process has to start again.
        """
        if self._next is not None and offset < self._next:
            raise ValueError(f"offset {offset} came after {self._next - 1}")
        self._unfinished[offset] = None
        self._next = offset + 1

    def mark_done(self, offset: int) -> None:
        """Count *offset* as done; quiet if it is already, or was never tracked."""
        self._unfinished.pop(offset, None)

    @property
    def committable(self) -> int | None:
        """The lowest unfinished offset, else the one after the last; ``None``: none tracked."""
        return next(iter(self._unfinished), self._next)


class PartitionAssignment:
    """Starts without partitions.

    Args:
        max_in_flight: A partition pauses at so many records in flight; it goes on when three
            quarters of them are left.
    """

    def __init__(self, max_in_flight: int) -> None:
        self._max_in_flight = max_in_flight
        self._resume_at = max_in_flight * 3 // 4
        self._offsets: dict[int, OffsetTracker] = {}
        self._committed: dict[int, int] = {}
        self._undelivered: deque[Record] = deque()
        self._delivered: set[tuple[int, int]] = set()
        self._paused: set[int] = set()
        self._delivers = True

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
    def delivered(self) -> int:
        return len(self._delivered)

    def assign(self, partitions: Iterable[int]) -> None:
        """Start on *partitions*, with nothing in flight."""
        self.revoke()
        self._offsets = {partition: OffsetTracker() for partition in partitions}

    def revoke(self) -> None:
        """Have no partitions; what was delivered of them may be marked done, to no effect."""
        self._offsets.clear()
        self._committed.clear()
        self._undelivered.clear()
        self._delivered.clear()
        self._paused.clear()

    def drop_undelivered(self) -> None:
        """Deliver nothing more of what was received so far."""
        self._undelivered.clear()

    def stop_delivery(self) -> None:
        """Deliver nothing ever again."""
        self._delivers = False
        self._undelivered.clear()

    def receive(self, record: Record) -> bool:
        """Take *record*; return whether its partition is to be paused now."""
        offsets = self._offsets.get(record.partition)
        if offsets is None:
            return False
        offsets.track(record.offset)
        if self._delivers:
            self._undelivered.append(record)
        if len(offsets) < self._max_in_flight or record.partition in self._paused:
            return False
        self._paused.add(record.partition)
        return True

    def next_record(self) -> Record | None:
        """Return the next record, which is then delivered; ``None`` if there is none."""
        if not self._undelivered:
            return None
        record = self._undelivered.popleft()
        self._delivered.add((record.partition, record.offset))
        return record

    def mark_done(self, record: Record) -> bool:
        """Count *record* as done; return whether its partition is to be resumed now."""
        self._delivered.discard((record.partition, record.offset))
        offsets = self._offsets.get(record.partition)
        if offsets is None:
            return False
        offsets.mark_done(record.offset)
        if record.partition not in self._paused or len(offsets) > self._resume_at:
            return False
        self._paused.discard(record.partition)
        return True

    def committable_offsets(self) -> dict[int, int]:
        """Return the next offset of each partition where it is not the committed one."""
        return {
            partition: offset
            for partition, offsets in self._offsets.items()
            if (offset := offsets.committable) is not None
            and offset != self._committed.get(partition)
        }

    def mark_committed(self, offsets: dict[int, int]) -> None:
        """Remember that *offsets* are committed."""
        known = {p: offset for p, offset in offsets.items() if p in self._offsets}
        self._committed.update(known)
