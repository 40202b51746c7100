"""Which offset of one partition may be committed while its records are done in any order."""

from collections import deque


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
        self._order: deque[int] = deque()  # from the lowest unfinished one on
        self._unfinished: set[int] = set()
        self._next: int | None = None  # one past the highest tracked

    def __len__(self) -> int:
        """Return how many are unfinished."""
        return len(self._unfinished)

    def track(self, offset: int) -> None:
        """Count *offset* as unfinished.

        Raises:
            ValueError: It is not above all tracked before.
        """
        if self._next is not None and offset < self._next:
            raise ValueError(f"offset {offset} was tracked before; next is {self._next}")
        self._order.append(offset)
        self._unfinished.add(offset)
        self._next = offset + 1

    def mark_done(self, offset: int) -> None:
        """Count *offset* as done; quiet if it is already, or was never tracked."""
        self._unfinished.discard(offset)
        while self._order and self._order[0] not in self._unfinished:
            self._order.popleft()

    @property
    def committable(self) -> int | None:
        """The lowest unfinished offset, else the one after the last; ``None``: none tracked."""
        return self._order[0] if self._order else self._next
