"""A dictionary of bounded size: the least recently used entry goes first."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruDict(OrderedDict[K, V], Generic[K, V]):
    """Holds at most *most* entries; iterates from the least to the most recently used.

    An entry is used by being set, and by `use`; `get` and ``[]`` only look.

    Args:
        most: Entries.
        on_evicted: Called with key and value of an entry that made room for others.

    >>> squares = LruDict[int, int](most=2)
    >>> squares[1], squares[2] = 1, 4
    >>> squares.use(1)
    1
    >>> squares[3] = 9
    >>> list(squares)
    [1, 3]
    """

    def __init__(self, most: int, on_evicted: Callable[[K, V], object] | None = None) -> None:
        super().__init__()
        self.most = most
        self._on_evicted = on_evicted

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self.most:
            self.evict()

    def use(self, key: K) -> V | None:
        """Return what *key* has, now the most recently used; ``None`` if there is none."""
        try:
            self.move_to_end(key)
        except KeyError:
            return None
        return self[key]

    def evict_while(self, may_go: Callable[[V], bool]) -> None:
        """Take the least recently used entries out, up to the first that may not go.

        Where an entry serves for so long, and *may_go* says that its time is over, none stays
        that was not used for longer than that, as long as others come.
        """
        while self and may_go(next(iter(self.values()))):
            self.evict()

    def evict(self) -> None:
        """Take the least recently used entry out."""
        key, value = self.popitem(last=False)
        if self._on_evicted is not None:
            self._on_evicted(key, value)
