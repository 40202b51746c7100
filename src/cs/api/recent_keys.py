"""Keys as this process read them last: for headers, and to turn a secret away."""

import math
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

from cs.domain.key import Key, KeyRevoked, KeyRotated, evolve
from cs.domain.messages import Event
from cs.eventlog.port import RecordedEvent
from cs.runtime.lru import LruDict

#: How old what is remembered of a key may be when a check beyond the limit is answered with it.
READ_AGAIN_S = 1.0
#: As many as have their checks remembered (`cs.checks.port.KEYS`).
KEYS = 20_000


class RecentKeys:
    """The newest state that was read of each key.  Never to let a secret in.

    Attributes:
        READS: What `on_events` is to be given.
    """

    READS: ClassVar[frozenset[type[Event]]] = frozenset({KeyRotated, KeyRevoked})

    def __init__(self) -> None:
        self._read_at: dict[str, float] = {}
        self._read = LruDict[str, Key](KEYS, lambda key_id, _: self._read_at.pop(key_id, None))

    def remember(self, key_id: str, key: Key) -> None:
        known = self._read.get(key_id, key)
        if known is key and key_id in self._read:
            self._read.move_to_end(key_id)
            return
        self._read[key_id] = max(key, known, key=_age)  # the last one of a moment

    def is_due(self, key_id: str, monotonic: float) -> bool:
        """Return whether to read *key_id*: not remembered, or not due for a second.

        What is answered from memory, however many ask, is so at most a second old.
        """
        if key_id not in self._read:
            return True
        if monotonic - self._read_at.get(key_id, -math.inf) < READ_AGAIN_S:
            return False
        self._read_at[key_id] = monotonic
        return True

    def remembered(self, key_id: str) -> Key | None:
        return self._read.get(key_id)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        """Take note of secrets that stopped working, of keys that are remembered."""
        for recorded in page:
            if isinstance(recorded.event, KeyRotated | KeyRevoked):
                key_id = recorded.stream.removeprefix("key-")
                if (key := self._read.get(key_id)) is not None:
                    self._read[key_id] = max(evolve(key, recorded.event), key, key=_age)

    def refuses(self, key_id: str, secret_hash: str) -> bool:
        """Return whether that secret is known to open *key_id* no more."""
        key = self._read.get(key_id)
        return key is not None and not key.opened_by(secret_hash)


def _age(key: Key) -> tuple[datetime, int, bool]:
    return key.last_at, key.used, key.revoked
