"""Which offset of one partition may be committed while its records finish in any order."""

from collections import deque


class LowestOffsets:
    """Offsets taken in rising order, gaps allowed, and finished in any.

    >>> offsets = LowestOffsets()
    >>> for offset in (5, 6, 9):
    ...     offsets.take(offset)
    >>> offsets.finish(6)
    >>> offsets.finish(9)
    >>> offsets.to_commit
    5
    >>> offsets.finish(5)
    >>> offsets.to_commit
    10
    """

    def __init__(self) -> None:
        self._order: deque[int] = deque()  # from the lowest unfinished one on
        self._open: set[int] = set()
        self._after: int | None = None  # one past the highest taken

    def __len__(self) -> int:
        """Return how many are unfinished."""
        return len(self._open)

    def take(self, offset: int) -> None:
        """Count *offset* as unfinished.

        Raises:
            ValueError: It is not above all taken before.
        """
        if self._after is not None and offset < self._after:
            raise ValueError(f"offset {offset} was taken before; next is {self._after}")
        self._order.append(offset)
        self._open.add(offset)
        self._after = offset + 1

    def finish(self, offset: int) -> None:
        """Count *offset* as finished; quiet if it is already, or was never taken."""
        self._open.discard(offset)
        while self._order and self._order[0] not in self._open:
            self._order.popleft()

    @property
    def to_commit(self) -> int | None:
        """The lowest unfinished offset, else the one after the last; ``None``: none taken."""
        return self._order[0] if self._order else self._after
