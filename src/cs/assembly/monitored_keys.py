"""The data keys as the rest of the service uses them: a failure makes the log unavailable.

Without its keys the log can neither store nor read what is about people, so a key store that
fails is a log that is unavailable: callers get a 500 and try again, what runs in the
background waits, and `/readyz` says so.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from structlog import get_logger

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.sqlite import LogFile
from cs.keystore.errors import KeysUnavailable, WrongMasterKey
from cs.keystore.lost import LostValues
from cs.keystore.port import KeyStore

log = get_logger()

T = TypeVar("T")

_FAILED = (KeysUnavailable, OSError, WrongMasterKey)


class KeyStoreUnavailable(KeysUnavailable, LogUnavailable):
    """The key store cannot be used now, and so neither can the log."""


class MonitoredKeyStore:
    """A `cs.keystore.port.KeyStore` over *keys*, which are in *file* if they are in a file.

    Raises:
        KeyStoreUnavailable: From every method: the keys cannot be read or stored now.
    """

    def __init__(self, keys: KeyStore, file: LogFile | None = None) -> None:
        self._keys = keys
        self._file = file
        self._away = False

    @property
    def lost(self) -> LostValues:
        return self._keys.lost

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await self._watched(lambda: self._keys.ensure(names))

    async def ensure_indexed(
        self, names: Iterable[str], entries: Iterable[tuple[str, str]]
    ) -> Mapping[str, bytes]:
        return await self._watched(lambda: self._keys.ensure_indexed(names, entries))

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]:
        return await self._watched(lambda: self._keys.find(names), reads=True)

    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]:
        return await self._watched(lambda: self._keys.look(names), reads=True)

    async def secret(self, name: str) -> bytes:
        return await self._watched(lambda: self._keys.secret(name))

    def fingerprint(self, kind: str, value: str) -> str:
        return self._keys.fingerprint(kind, value)

    async def matching(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._watched(lambda: self._keys.matching(fingerprints), reads=True)

    async def suppress(self, fingerprints: Iterable[str]) -> None:
        await self._watched(lambda: self._keys.suppress(fingerprints))

    async def unsuppress(self, fingerprints: Iterable[str]) -> None:
        await self._watched(lambda: self._keys.unsuppress(fingerprints))

    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]:
        return await self._watched(lambda: self._keys.suppressed(fingerprints), reads=True)

    async def destroy(self, names: Iterable[str]) -> None:
        await self._watched(lambda: self._keys.destroy(names))

    def forget(self) -> None:
        self._keys.forget()

    async def _watched(self, call: Callable[[], Awaitable[T]], *, reads: bool = False) -> T:
        try:
            if self._file is not None and reads:
                self._file.check()
            answer = await call()
            if self._file is not None and not reads:
                self._file.check()  # else what was stored is in no file anybody will find
        except (*_FAILED, LogUnavailable) as error:
            raise self._failed(error) from error
        if self._away:
            log.info("keys_available")
        self._away = False
        return answer

    def _failed(self, error: Exception) -> KeyStoreUnavailable:
        why = f"the data keys cannot be used: {error}"
        if not self._away:
            log.error("keys_unavailable", why=why)
        self._away = True
        return KeyStoreUnavailable(why)
