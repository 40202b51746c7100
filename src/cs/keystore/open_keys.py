"""Data keys kept open in memory, the least recently used going first."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

#: 32 bytes each and their names.
CACHED = 20_000


class OpenKeys:
    def __init__(self, most: int = CACHED) -> None:
        self._most = most
        self._keys: OrderedDict[str, bytes] = OrderedDict()
        self._forgotten = 0

    async def get(
        self, names: Iterable[str], load: Callable[[Sequence[str]], Awaitable[dict[str, bytes]]]
    ) -> Mapping[str, bytes]:
        """Return the keys of *names*, those that are not here from *load*."""
        wanted = tuple(dict.fromkeys(names))
        found = {name: self._keys[name] for name in wanted if name in self._keys}
        missing = [name for name in wanted if name not in found]
        if missing:
            before = self._forgotten
            loaded = await load(missing)
            found |= loaded
            if before == self._forgotten:  # else it may have been destroyed since
                self._keys.update(loaded)
        for name in found:
            if name in self._keys:  # another caller may have pushed it out meanwhile
                self._keys.move_to_end(name)
        while len(self._keys) > self._most:
            self._keys.popitem(last=False)
        return found

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._keys.pop(name, None)

    def forget(self) -> None:
        self._keys.clear()
        self._forgotten += 1
