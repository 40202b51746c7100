"""Data keys in a SQLite file of their own (mode 0600), wrapped by a master key."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from cs.keystore.cached_store import CachedKeyStore
from cs.keystore.errors import KeysUnavailable
from cs.keystore.sqlite import rotation
from cs.keystore.sqlite.file import KeyFile
from cs.keystore.wrapping import FINGERPRINTS, MasterKeys
from cs.metrics.metrics import Metrics
from cs.runtime.private_files import DeletedDataRemains
from cs.sqlite.database import LOCK_TIMEOUT_S, DatabaseThreads, transaction, wipe
from cs.sqlite.errors import describe
from cs.sqlite.group_commit import GroupCommit

P = ParamSpec("P")
T = TypeVar("T")


class SqliteKeyStore(CachedKeyStore):
    """One thread; what is written by callers that wait together is one transaction.

    Waits *lock_timeout_s* for another process's transaction.
    """

    def __init__(
        self,
        path: Path,
        master: bytes | MasterKeys,
        *,
        lock_timeout_s: int = LOCK_TIMEOUT_S,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(metrics)
        self._thread = DatabaseThreads("keystore")
        self._file = KeyFile(path, MasterKeys.of(master), lock_timeout_s=lock_timeout_s)
        self._group = GroupCommit(self._file.database, self._thread)
        self._secrets[FINGERPRINTS] = self.stored_secret(FINGERPRINTS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._thread.close()
        self._file.close()

    def stored_secret(self, name: str) -> bytes:
        """Return what `secret` does, in this thread."""
        with transaction(self._file.database):
            return self._file.secret(name)

    async def index(self, entries: Iterable[tuple[str, str]]) -> None:
        pairs = tuple(entries)
        if not pairs:
            return
        try:
            destroyed = await self._write(partial(self._file.index, pairs), self._wipe)
        except DeletedDataRemains as error:  # whoever stores these events tries again
            raise KeysUnavailable(str(error)) from error
        self._open.drop(destroyed)

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._run(self._file.matching, tuple(fingerprints))

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        await self._write(partial(self._file.suppress, tuple(fingerprints)))

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        await self._write(partial(self._file.unsuppress, tuple(fingerprints)))

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._run(self._file.suppressed, tuple(fingerprints))

    async def destroy(self, names: Iterable[str]) -> None:
        destroyed = tuple(names)
        try:
            if destroyed:
                await self._write(
                    partial(self._file.destroy, destroyed), lambda _: wipe(self._file.database)
                )
        finally:
            self.forget()

    async def versions(self) -> Sequence[str]:
        """Return the master key in use, then those that keys are wrapped with still."""
        return await self._run(rotation.versions, self._file)

    async def begin_rotation(self, version: str) -> None:
        await self._run(rotation.begin, self._file, version)

    async def rewrap(self, after: str, limit: int) -> tuple[str, int]:
        return await self._run(rotation.rewrap, self._file, after, limit)

    async def left(self) -> int:
        return await self._run(rotation.left, self._file)

    async def end_rotation(self) -> None:
        await self._run(rotation.end, self._file)

    async def _make_keys(self, names: Sequence[str]) -> Mapping[str, bytes]:
        found: dict[str, bytes | None] = {}
        if self._open.has_all(names):  # they are stored, or were a moment ago
            found = await self._run(self._file.look, names)
        missing = [name for name in names if name not in found]
        if missing:
            found |= await self._write(partial(self._file.make, missing))
        return {name: key for name, key in found.items() if key is not None}

    async def _stored_keys(self, names: Sequence[str]) -> Mapping[str, bytes | None]:
        return await self._run(self._file.look, names)

    async def _stored_secret(self, name: str) -> bytes:
        return await self._write(partial(self._file.secret, name))

    def _wipe(self, destroyed: frozenset[str]) -> None:
        if destroyed:
            wipe(self._file.database)

    async def _write(
        self, write: Callable[[], T], then: Callable[[T], object] | None = None
    ) -> T:
        """Run *write* in a transaction, which others may share, and *then* after it."""
        try:
            return await self._group.run(write, then)
        except sqlite3.Error as error:
            raise KeysUnavailable(describe(error)) from error

    async def _run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await self._thread.run(function, *args, **kwargs)
        except sqlite3.Error as error:
            raise KeysUnavailable(describe(error)) from error
