"""Calls held open, counted: a hold costs a connection and some memory for 85 seconds."""

from collections.abc import Iterator
from contextlib import contextmanager

#: Calls held at once in this process unless told otherwise.
HOLDS = 5_000
#: Calls of one key held at once: more than a key's 6 searches a minute can keep waiting,
#: so only who asks for one search over and over meets it.
HOLDS_PER_KEY = 16


class Holds:
    """Places for held calls.  Who gets none is answered 202 at once, so nobody is refused."""

    def __init__(self, most: int = HOLDS, most_per_key: int = HOLDS_PER_KEY) -> None:
        self._most = most
        self._most_per_key = most_per_key
        self._of_key: dict[str, int] = {}
        self.held = 0

    @contextmanager
    def place(self, key_id: str) -> Iterator[bool]:
        """Take a place until left; yield whether there was one."""
        mine = self._of_key.get(key_id, 0)
        if self.held >= self._most or mine >= self._most_per_key:
            yield False
            return
        self.held += 1
        self._of_key[key_id] = mine + 1
        try:
            yield True
        finally:
            self.held -= 1
            self._of_key[key_id] -= 1
            if not self._of_key[key_id]:
                del self._of_key[key_id]
