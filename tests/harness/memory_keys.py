"""Data keys in memory, for tests."""

import os
from collections.abc import Iterable, Mapping, Sequence

from cs.keystore.lost import LostValues
from cs.keystore.recovery import ErasureEntry, LogMark, RecoveryRecord
from cs.keystore.wrapping import FINGERPRINTS, fingerprint


class MemoryRecovery(RecoveryRecord):
    """The mark and the erasures, without a database."""

    def __init__(self) -> None:
        self.journal = None
        self._mark: LogMark | None = None
        self._entries: list[ErasureEntry] = []

    async def mark(self) -> LogMark | None:
        return self._mark

    async def advance(self, mark: LogMark) -> None:
        self._mark = mark

    async def keep(self, entries: Iterable[ErasureEntry]) -> None:
        self._entries += entries

    async def erasures(self) -> Sequence[ErasureEntry]:
        return self._entries


class MemoryKeyStore:
    def __init__(self) -> None:
        self.lost = LostValues()
        self.recovery = MemoryRecovery()
        self._keys: dict[str, bytes | None] = {}
        self._index: set[tuple[str, str]] = set()
        self._suppressed: set[str] = set()
        self._secrets = {FINGERPRINTS: os.urandom(32)}

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        wanted = set(names)
        for name in wanted:
            self._keys.setdefault(name, os.urandom(32))
        return await self.find(wanted)

    async def ensure_indexed(
        self, names: Iterable[str], entries: Iterable[tuple[str, str]]
    ) -> Mapping[str, bytes]:
        new = set(entries)
        self._index |= new
        await self.destroy(name for print_, name in new if print_ in self._suppressed)
        return await self.ensure(names)

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return {name: key for name in names if (key := self._keys.get(name)) is not None}

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        return {name: self._keys[name] for name in names if name in self._keys}

    async def secret(self, name: str) -> bytes:
        return self._secrets.setdefault(name, os.urandom(32))

    def fingerprint(self, kind: str, value: str) -> str:
        return fingerprint(self._secrets[FINGERPRINTS], kind, value)

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        wanted = set(fingerprints)
        return frozenset(name for print_, name in self._index if print_ in wanted)

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        self._suppressed.update(fingerprints)

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        self._suppressed.difference_update(fingerprints)

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return frozenset(self._suppressed.intersection(fingerprints))

    async def destroy(self, names: Iterable[str]) -> None:
        self._keys.update(dict.fromkeys(names))

    def forget(self) -> None:
        """Do nothing: what is in memory is all there is."""
