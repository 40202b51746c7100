"""What key stores do alike: keys and secrets that were read stay in memory, unwrapped."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from cs.keystore.lost import LostValue, LostValues
from cs.keystore.open_keys import OpenKeys
from cs.keystore.wrapping import FINGERPRINTS, fingerprint
from cs.metrics.metrics import Metrics


class CachedKeyStore(ABC):
    """Base of the SQLite and PostgreSQL key stores (`cs.keystore.port.KeyStore`).

    What is destroyed here is dropped from memory; `forget` is for what others destroyed.
    """

    def __init__(self, metrics: Metrics | None = None) -> None:
        self.lost = LostValues()
        self._open = OpenKeys(metrics=metrics)
        self._secrets: dict[str, bytes] = {}

    @abstractmethod
    async def _make_keys(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """Return a key for each of *names*, made if it is missing; none of destroyed names."""

    @abstractmethod
    async def _stored_keys(self, names: Sequence[str]) -> Mapping[str, bytes | None]:
        """Return what is stored of *names*; ``None`` for a destroyed key."""

    @abstractmethod
    async def _stored_secret(self, name: str) -> bytes:
        """Return the secret *name*, made if it is missing."""

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await self._ensured(names, self._make_keys)

    async def ensure_indexed(
        self, names: Iterable[str], entries: Iterable[tuple[str, str]]
    ) -> Mapping[str, bytes]:
        await self.index(entries)
        return await self.ensure(names)

    @abstractmethod
    async def index(self, entries: Iterable[tuple[str, str]]) -> None:
        """Do as `cs.keystore.port.KeyStore.index`."""

    async def _ensured(
        self,
        names: Iterable[str],
        make: Callable[[Sequence[str]], Awaitable[Mapping[str, bytes]]],
    ) -> Mapping[str, bytes]:
        # A name that had another key until now had it from a store that has forgotten it:
        # what was sealed with that one is lost.
        stored, replaced = await self._open.read_anew(names, make)
        self.lost.note(LostValue(name, "another") for name in sorted(replaced))
        return {name: key for name, key in stored.items() if key is not None}

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await self._open.get(names, self._existing_keys)

    def held(self, name: str) -> bytes | None:
        return self._open.held(name)

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        stored, _ = await self._open.read_anew(names, self._stored_keys)
        return stored

    async def secret(self, name: str) -> bytes:
        if name not in self._secrets:
            self._secrets[name] = await self._stored_secret(name)
        return self._secrets[name]

    def fingerprint(self, kind: str, value: str) -> str:
        return fingerprint(self._secrets[FINGERPRINTS], kind, value)

    def forget(self) -> None:
        self._open.forget()

    async def _existing_keys(self, names: Sequence[str]) -> Mapping[str, bytes]:
        stored = await self._stored_keys(names)
        return {name: key for name, key in stored.items() if key is not None}
