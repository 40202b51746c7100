"""The data keys as the rest of the service uses them: a failure makes the log unavailable.

Without its keys the log can neither store nor read what is about people, so a key store that
fails is a log that is unavailable: callers get a 500 and try again, what runs in the
background waits, and `/readyz` says so.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from structlog import get_logger

from cs.eventlog.port import LogUnavailable
from cs.eventlog.sqlite import LogFile
from cs.keystore.port import KeyStore, KeysUnavailable, WrongMasterKey

log = get_logger()

P = ParamSpec("P")
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
        self._file = file
        self._away = False
        self.lost = keys.lost
        self.recovery = keys.recovery
        self.fingerprint = keys.fingerprint
        self.forget = keys.forget
        self.find = self._watched(keys.find, reads=True)
        self.look = self._watched(keys.look, reads=True)
        self.matching = self._watched(keys.matching, reads=True)
        self.suppressed = self._watched(keys.suppressed, reads=True)
        self.ensure = self._watched(keys.ensure)
        self.ensure_indexed = self._watched(keys.ensure_indexed)
        self.secret = self._watched(keys.secret)
        self.suppress = self._watched(keys.suppress)
        self.unsuppress = self._watched(keys.unsuppress)
        self.destroy = self._watched(keys.destroy)

    def _watched(
        self, call: Callable[P, Awaitable[T]], *, reads: bool = False
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        async def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                if self._file is not None and reads:
                    self._file.check()
                answer = await call(*args, **kwargs)
                if self._file is not None and not reads:
                    self._file.check()  # else what was stored is in a file without a name
            except (*_FAILED, LogUnavailable) as error:
                raise self._failed(error) from error
            if self._away:
                log.info("keys_available")
            self._away = False
            return answer

        return watched

    def _failed(self, error: Exception) -> KeyStoreUnavailable:
        why = f"the data keys cannot be used: {error}"
        if not self._away:
            log.error("keys_unavailable", why=why)
        self._away = True
        return KeyStoreUnavailable(why)
