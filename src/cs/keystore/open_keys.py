"""Unwrapped data keys in memory, the least recently used going first."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from cs.metrics.metrics import Metrics
from cs.runtime.lru import LruDict

#: 32 bytes each and their names.
CACHED = 20_000


class OpenKeys:
    def __init__(self, most: int = CACHED, metrics: Metrics | None = None) -> None:
        self._keys = keys = LruDict[str, bytes](most)
        self._counters = (metrics or Metrics()).cache("data-keys", keys.__len__, most)
        self._forgotten = 0

    def has_all(self, names: Iterable[str]) -> bool:
        return all(name in self._keys for name in names)

    async def get(
        self,
        names: Iterable[str],
        load: Callable[[Sequence[str]], Awaitable[Mapping[str, bytes]]],
    ) -> Mapping[str, bytes]:
        """Return the keys of *names*, those that are not here from *load*."""
        wanted = tuple(dict.fromkeys(names))
        found = {name: self._keys[name] for name in wanted if name in self._keys}
        self._use(found)
        missing = [name for name in wanted if name not in found]
        self._counters.hits.inc(len(found))
        self._counters.misses.inc(len(missing))
        if missing:
            before = self._forgotten
            loaded = await load(missing)
            found.update(loaded)
            if before == self._forgotten:  # else it may have been destroyed since
                self._keys.update(loaded)
        return found

    def held(self, name: str) -> bytes | None:
        """Return the key of *name* if it is here."""
        key = self._keys.use(name)
        if key is not None:
            self._counters.hits.inc()
        return key

    async def read_anew(
        self,
        names: Iterable[str],
        load: Callable[[Sequence[str]], Awaitable[Mapping[str, bytes | None]]],
    ) -> tuple[Mapping[str, bytes | None], frozenset[str]]:
        """Return what *load* gives for all of *names*, and which of them had another key here.

        From then on what was loaded is in memory.
        """
        wanted = tuple(dict.fromkeys(names))
        cached = {name: self._keys[name] for name in wanted if name in self._keys}
        before = self._forgotten
        loaded = await load(wanted) if wanted else {}
        self.drop(wanted)
        there = {name: key for name, key in loaded.items() if key is not None}
        if before == self._forgotten:  # else it may have been destroyed since
            self._keys.update(there)
        self._use(there)
        replaced = frozenset(n for n, key in cached.items() if there.get(n, key) != key)
        return loaded, replaced

    def _use(self, names: Iterable[str]) -> None:
        for name in names:
            self._keys.use(name)

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._keys.pop(name, None)

    def forget(self) -> None:
        self._keys.clear()
        self._forgotten += 1
