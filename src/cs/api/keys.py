"""Callers and their keys: which key a secret belongs to, and whether the secret opens it now.

A secret's key is found in memory, or else in the views, or else in the rest of the log.
Whether the secret opens the key now is decided by the key's stream, read since the call
came.  Memory alone lets no caller in, and turns away only secrets that are known to be rotated
or revoked, which is final.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import ClassVar

import msgspec

from cs.api.errors import ApiError
from cs.api.waiting import TIME_LIMITS, within
from cs.domain.api_key import PREFIX, hash_key, well_formed
from cs.domain.key import Key, KeyIssued, KeyRevoked, KeyRotated
from cs.domain.messages import Event, present
from cs.eventlog.port import LogUnavailable, RecordedEvent
from cs.eventlog.streams import FoldedState, Streams
from cs.runtime.batcher import Batcher, BatcherFull
from cs.runtime.lru import LruDict

#: Keys remembered, some 350 bytes each; the least recently used goes first.
MAX_KEYS = 100_000
#: Look-ups of each kind a second that find some secret to open nothing: a flood costs no more.
READ_THROUGH_PER_S = 10
#: Secrets that may wait for a look-up of each kind.
WAITING = 5_000

#: Returns the key id of each of these secret hashes that is found to open one.
LookUp = Callable[[AbstractSet[str]], Awaitable[Mapping[str, str]]]

_SEND = "send `Authorization: Bearer <API_KEY>`"


class Caller(msgspec.Struct, frozen=True):
    """The key that a call came with, and the hash of the secret that was sent."""

    key_id: str
    secret_hash: str

    @property
    def stream(self) -> str:
        return f"key-{self.key_id}"


class Keys:
    """Finds and reads the keys of callers; give `on_events` every page of events.

    Args:
        streams: Where the state of a key is read.
        shown: Finds the secrets that the views show, at once; a secret that it does not find
            may open a key all the same.
        look_up: Finds every secret that opens a key when it is called or later; it may take
            seconds.
        now: The time by which an old secret works on after a rotation.
        max_keys: Keys remembered at most.
    """

    READS: ClassVar[frozenset[type[Event]]] = frozenset({KeyIssued, KeyRotated, KeyRevoked})

    def __init__(
        self,
        streams: Streams,
        shown: LookUp,
        look_up: LookUp,
        now: Callable[[], datetime],
        *,
        max_keys: int = MAX_KEYS,
    ) -> None:
        self._streams = streams
        self._now = now
        self._shown = _batched(shown)
        self._looked_up = _batched(look_up)
        self._key_of = LruDict[str, str](max_keys, self._evicted)
        self._secret_of: dict[str, str] = {}  # the newest by the events that came here
        self._others_of: dict[str, tuple[str, ...]] = {}  # the others in `_key_of`
        self._shut = LruDict[str, None](max_keys)
        self._position = 0

    def __len__(self) -> int:
        return len(self._key_of)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        for recorded in page:
            if recorded.position <= self._position:
                continue  # delivered again
            self._position = recorded.position
            key_id = recorded.stream.removeprefix("key-")
            match recorded.event:
                case KeyIssued(secret_hash=secret_hash):
                    self.remember(key_id, secret_hash)
                case KeyRotated(secret_hash=secret_hash, old_until=old_until):
                    before = self._secret_of.get(key_id)
                    # The others may be older or, found before this event came, newer.
                    for other in self._others_of.pop(key_id, ()):
                        self.forget(other)
                    if before is not None and old_until is None:
                        self.shut(before)
                    self.remember(key_id, secret_hash)
                case KeyRevoked():
                    for known in (
                        *self._others_of.get(key_id, ()),
                        self._secret_of.get(key_id),
                    ):
                        if known is not None:
                            self.shut(known)
                case _:
                    pass

    async def caller(self, authorization: Sequence[str], within_s: float) -> Caller:
        """Return the caller that sent *authorization*, all headers of that name.

        Raises:
            ApiError: ``unauthorized``.
            LogUnavailable: The key cannot be found out in *within_s* seconds.
        """
        secret_hash = hash_key(presented(authorization))
        key_id = self.known(secret_hash)
        if key_id is None and secret_hash not in self._shut:
            async with within(within_s):
                key_id = await self.find(secret_hash)
        if key_id is None:
            raise wrong_key()
        return Caller(key_id, secret_hash)

    def known(self, secret_hash: str) -> str | None:
        """Return the id of the key that the secret of *secret_hash* opened when last seen."""
        return self._key_of.use(secret_hash)

    async def find(self, secret_hash: str) -> str | None:
        """Return the key id by memory, or else by the views, or else by the log as it is now.

        Raises:
            LogUnavailable: It cannot be found out now, or too many wait to be.
        """
        key_id = self.known(secret_hash)
        if key_id is not None:
            return key_id
        try:
            key_id = await _submit(self._shown, secret_hash)
            key_id = key_id or await _submit(self._looked_up, secret_hash)
        except BatcherFull as full:
            raise LogUnavailable(f"{WAITING} calls with unknown keys wait already") from full
        if key_id is not None:
            self._note_other(key_id, secret_hash)
            self._key_of[secret_hash] = key_id
        return key_id

    def remember(self, key_id: str, secret_hash: str) -> None:
        """Take note that the secret of *secret_hash* is the newest one of *key_id*."""
        before = self._secret_of.get(key_id)
        self._secret_of[key_id] = secret_hash
        if before is not None:
            self._note_other(key_id, before)
        self._key_of[secret_hash] = key_id

    def _note_other(self, key_id: str, secret_hash: str) -> None:
        others = self._others_of.get(key_id, ())
        if secret_hash != self._secret_of.get(key_id) and secret_hash not in others:
            self._others_of[key_id] = (*others, secret_hash)

    def forget(self, secret_hash: str) -> None:
        """Forget which key a secret belongs to."""
        key_id = self._key_of.pop(secret_hash, None)
        if key_id is not None:
            self._evicted(secret_hash, key_id)

    def shut(self, secret_hash: str) -> None:
        """Take note that a secret opens nothing any more."""
        self.forget(secret_hash)
        self._shut[secret_hash] = None

    def _evicted(self, secret_hash: str, key_id: str) -> None:
        if self._secret_of.get(key_id) == secret_hash:
            del self._secret_of[key_id]
        others = [each for each in self._others_of.pop(key_id, ()) if each != secret_hash]
        if others:
            self._others_of[key_id] = tuple(others)

    async def read(self, key_id: str, version: int | None = None) -> Key:
        """Return the state of a key as the log has it now; the caller bounds the time.

        Args:
            key_id: Which key.
            version: That its stream had after the call came, if that was read.

        Raises:
            LogUnavailable: It cannot be read.
        """
        return (await self._streams.key(key_id, version)).state

    async def read_open(self, caller: Caller, version: int | None = None) -> Key:
        """Return the state of *caller*'s key, as `read` does.

        Raises:
            ApiError: ``unauthorized``: the secret was rotated or revoked (contract H11),
                whether or not the event has come to this process.
        """
        key = await self.read(caller.key_id, version)
        self.require_open(caller, key)
        return key

    def last_read(self, key_id: str) -> Key | None:
        """Return the state of a key as this process read or wrote it last, if in memory."""
        folded: FoldedState[Key] | None = self._streams.remembered(f"key-{key_id}")
        return None if folded is None else folded.state

    def require_open(self, caller: Caller, key: Key) -> None:
        """Check that the caller's secret opens *key*, which was read since it called.

        Raises:
            ApiError: ``unauthorized``.
        """
        if not key.opened_by(caller.secret_hash, present(self._now(), key.last_at)):
            if caller.secret_hash != key.old_secret_hash:  # by a clock that may be ahead
                self.shut(caller.secret_hash)
            raise wrong_key()

    def require_not_shut(self, caller: Caller) -> None:
        """Check that the caller's secret is not known to be rotated or revoked.

        Raises:
            ApiError: ``unauthorized``.
        """
        key = self.last_read(caller.key_id)
        if key is not None and caller.secret_hash == key.old_secret_hash:
            self.require_open(caller, key)
        if caller.secret_hash in self._shut:
            raise wrong_key()


async def _submit(look_ups: Batcher[str, str | None], secret_hash: str) -> str | None:
    """Look *secret_hash* up, and once more if the look-up that it was part of has failed."""
    try:
        return await look_ups.submit(secret_hash)
    except LogUnavailable:
        return await look_ups.submit(secret_hash)


def _batched(look_up: LookUp) -> Batcher[str, str | None]:
    """Return what looks up together the secrets that come while others are looked up.

    A flood of wrong secrets is a few look-ups a second, and no good one among them is turned
    away.
    """
    not_before = 0.0

    async def run(secrets: Sequence[str]) -> Sequence[str | None]:
        nonlocal not_before
        now, wanted = asyncio.get_running_loop().time, frozenset(secrets)
        await asyncio.sleep(max(0.0, not_before - now()))
        began = now()
        async with within(TIME_LIMITS.read_s):
            found = await look_up(wanted)
        if len(found) < len(wanted):
            not_before = began + 1 / READ_THROUGH_PER_S
        return [found.get(each) for each in secrets]

    return Batcher(run, size=WAITING, waiting=WAITING)


def presented(values: Sequence[str]) -> str:
    """Return the key of the one ``Authorization: Bearer`` header; *values* are all there are.

    A 401 says what is wrong with the form of what was sent, which is found without a look-up.
    For a key in the right form it never says whether there is such a key (contract H9, H10).

    Raises:
        ApiError: ``unauthorized``: no key, or nothing that can be one of ours.
    """
    if not values:
        raise unauthorized(f"no API key was sent; {_SEND}", sent=False)
    if len(values) > 1:
        raise unauthorized(f"more than one Authorization header was sent; {_SEND} once")
    scheme, _, token = values[0].strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer":
        if scheme.startswith(PREFIX):
            raise unauthorized(f"the API key was sent without `Bearer` before it; {_SEND}")
        raise unauthorized(f"the Authorization header is not of the scheme Bearer; {_SEND}")
    if not token:
        raise unauthorized(f"no API key stands behind `Bearer`; {_SEND}")
    if " " in token or "\t" in token:
        raise unauthorized(f"more than an API key stands behind `Bearer`; {_SEND}")
    if not well_formed(token):
        raise unauthorized(
            "this is no API key of this service; mistyped or cut off? "
            f"a key is `{PREFIX}` and 38 letters and digits"
        )
    return token


def wrong_key() -> ApiError:
    """Return the 401 of a key that is in the right form and opens nothing."""
    return unauthorized("the API key is wrong or revoked; ask the operator for another")


def unauthorized(message: str, *, sent: bool = True) -> ApiError:
    """Return a 401; *sent* says whether credentials came with the request (RFC 6750 3.1)."""
    challenge = 'Bearer error="invalid_token"' if sent else "Bearer"
    return ApiError("unauthorized", message, headers={"WWW-Authenticate": challenge})
