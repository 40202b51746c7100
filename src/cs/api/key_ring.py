"""Which secrets open which key: the whole map in memory, fed by the log."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated
from cs.eventlog.port import Recorded
from cs.projections.usage import UsageRow

#: Look-ups of unknown keys that may read through, per second; a flood costs nothing.
READ_THROUGH_PER_S = 10


class KeyRing:
    """Give `hear` every page of events; `known` answers without a database.

    Args:
        catch_up: Waits until this ring has heard of everything in the log.
        monotonic: Seconds that never step back.
    """

    def __init__(
        self, catch_up: Callable[[], Awaitable[None]], monotonic: Callable[[], float]
    ) -> None:
        self._catch_up = catch_up
        self._monotonic = monotonic
        self._key_of: dict[str, str] = {}
        self._hash_of: dict[str, str] = {}
        self._misses_second = 0
        self._misses = 0

    def load(self, keys: Iterable[tuple[str, UsageRow]]) -> None:
        for key_id, row in keys:
            if not row.revoked:
                self._set(key_id, row.secret_hash)

    def hear(self, page: Sequence[Recorded]) -> None:
        for recorded in page:
            key_id = recorded.stream.removeprefix("key-")
            match recorded.event:
                case KeyIssued(secret_hash=secret_hash) | KeyRotated(secret_hash=secret_hash):
                    self._set(key_id, secret_hash)
                case KeyRevoked():
                    self._key_of.pop(self._hash_of.pop(key_id, ""), None)
                case _:
                    pass

    def known(self, secret_hash: str) -> str | None:
        """Return the id of the key that the secret of *secret_hash* opens, if heard of."""
        return self._key_of.get(secret_hash)

    async def find(self, secret_hash: str) -> str | None:
        """Return what `known` does, once everything in the log was heard of."""
        if secret_hash not in self._key_of and self._may_read_through():
            await self._catch_up()
        return self._key_of.get(secret_hash)

    def opens(self, secret_hash: str, key_id: str) -> bool:
        """Return whether that secret still opens *key_id*."""
        return self._key_of.get(secret_hash) == key_id

    def _set(self, key_id: str, secret_hash: str) -> None:
        self._key_of.pop(self._hash_of.get(key_id, ""), None)
        self._hash_of[key_id] = secret_hash
        self._key_of[secret_hash] = key_id

    def _may_read_through(self) -> bool:
        second = int(self._monotonic())
        if second != self._misses_second:
            self._misses_second, self._misses = second, 0
        self._misses += 1
        return self._misses <= READ_THROUGH_PER_S
