"""Which key a secret belongs to: those used lately in memory, the others looked up.

What the views show is looked up first, however far behind the log they are.  Only what is not
among it waits for the rest of the log, so that a wrong secret keeps no good one waiting.

It finds a key's id and no more.  Whether the secret opens the key now is for whoever reads
the key to say, since what is remembered here may lag behind the log.  So a secret that is
wrongly thought to open a key costs one read; one that is wrongly thought to open none would
turn somebody away, and is never remembered.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import aclosing
from typing import ClassVar

from cs.domain.key import KeyIssued, KeyRevoked, KeyRotated
from cs.domain.messages import Event
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import RecordedEvent
from cs.runtime.lru import LruDict

#: Keys remembered, some 350 bytes each; the least recently used goes first.
MAX_KEYS = 100_000
#: Look-ups of each kind a second that find some secret to open nothing: a flood costs no more.
READ_THROUGH_PER_S = 10
#: Secrets that may wait for a look-up of each kind.
WAITING = 5_000

#: Returns the key id of each of these secret hashes that is found to open one.
LookUp = Callable[[AbstractSet[str]], Awaitable[Mapping[str, str]]]


class KeyRing:
    """Give `on_events` every page of events; `known` answers without a database.

    Attributes:
        READS: What `on_events` is to be given.

    Args:
        shown: Finds what the views show, at once; what it does not find may open a key all
            the same.
        look_up: Finds whatever opens a key when it is called or later; it may take seconds.
        max_keys: Keys remembered at most.
    """

    READS: ClassVar[frozenset[type[Event]]] = frozenset({KeyIssued, KeyRotated, KeyRevoked})

    def __init__(self, shown: LookUp, look_up: LookUp, *, max_keys: int = MAX_KEYS) -> None:
        self._shown = _BatchedLookUp(shown)
        self._looked_up = _BatchedLookUp(look_up)
        self._key_of = LruDict[str, str](max_keys, self._evicted)
        self._hash_of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._key_of)

    async def warm(self, pages: AsyncGenerator[Sequence[tuple[str, str]], None]) -> None:
        """Remember keys of *pages* of (key id, secret hash), up to the bound."""
        async with aclosing(pages):
            async for page in pages:
                for key_id, secret_hash in page:
                    if len(self) >= self._key_of.most:
                        return
                    self.remember(key_id, secret_hash)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        for recorded in page:
            key_id = recorded.stream.removeprefix("key-")
            match recorded.event:
                case KeyIssued(secret_hash=secret_hash) | KeyRotated(secret_hash=secret_hash):
                    self.remember(key_id, secret_hash)
                case KeyRevoked():
                    self._key_of.pop(self._hash_of.pop(key_id, ""), None)
                case _:
                    pass

    def known(self, secret_hash: str) -> str | None:
        """Return the id of the key that the secret of *secret_hash* opened when last seen."""
        return self._key_of.use(secret_hash)

    async def find(self, secret_hash: str) -> str | None:
        """Return what `known` does, or else what is shown, or else what the log knows now.

        Raises:
            LogUnavailable: It cannot be found out now, or too many wait to be.
        """
        key_id = self.known(secret_hash)
        if key_id is not None:
            return key_id
        key_id = await self._shown.find(secret_hash) or await self._looked_up.find(secret_hash)
        if key_id is not None:
            # Another secret of that key may be known: which is the old one is not.
            self._hash_of.setdefault(key_id, secret_hash)
            self._key_of[secret_hash] = key_id
        return key_id

    def remember(self, key_id: str, secret_hash: str) -> None:
        """Take note that the secret of *secret_hash* opens *key_id*, and no other does."""
        self._key_of.pop(self._hash_of.get(key_id, ""), None)
        self._hash_of[key_id] = secret_hash
        self._key_of[secret_hash] = key_id

    def forget(self, secret_hash: str) -> None:
        """Forget a secret that was found to open nothing any more."""
        key_id = self._key_of.pop(secret_hash, None)
        if key_id is not None:
            self._evicted(secret_hash, key_id)

    def _evicted(self, secret_hash: str, key_id: str) -> None:
        if self._hash_of.get(key_id) == secret_hash:
            del self._hash_of[key_id]


class _BatchedLookUp:
    """Looks up together what is wanted while others are being looked up.

    A flood of wrong secrets is a few look-ups a second, and nobody among them is turned away
    unseen.
    """

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self._lock = asyncio.Lock()
        self._wanted: dict[str, _WantedSecret] = {}
        self._waiting = 0
        self._not_before = 0.0

    async def find(self, secret_hash: str) -> str | None:
        """Return what a look-up that begins after this was called finds.

        Raises:
            LogUnavailable: From the look-up, or too many wait for it.
        """
        if self._waiting >= WAITING:
            raise LogUnavailable(f"{WAITING} calls with unknown keys wait already")
        self._waiting += 1
        try:
            wanted = self._wanted.setdefault(secret_hash, _WantedSecret())
            async with self._lock:
                if not wanted.looked_up:
                    # Wanted again, if the look-up that it was part of has failed.
                    wanted = self._wanted.setdefault(secret_hash, wanted)
                    await self._look_up_all()
        finally:
            self._waiting -= 1
        return wanted.key_id

    async def _look_up_all(self) -> None:
        """Look up all that are wanted when it begins; those that come later are not of it."""
        now = asyncio.get_running_loop().time
        await asyncio.sleep(max(0.0, self._not_before - now()))
        began = now()
        wanted, self._wanted = self._wanted, {}
        found = await self._look_up(wanted.keys())
        if len(found) < len(wanted):
            self._not_before = began + 1 / READ_THROUGH_PER_S
        for secret_hash, each in wanted.items():
            each.looked_up = True
            each.key_id = found.get(secret_hash)


class _WantedSecret:
    """A secret that is looked up, and what was found."""

    def __init__(self) -> None:
        self.looked_up = False
        self.key_id: str | None = None
