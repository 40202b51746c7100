"""The register of paid calls: none is made twice for one lookup.

A message may come twice, and a worker may die with a call under way.  So a call is stored with
a lease before it is made, and its answer as soon as there is one
(docs/decisions/0012-a-paid-call-is-made-once.md).
"""

import asyncio
import hmac
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Self, TypeAlias

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from structlog import get_logger

from cs.metrics.metrics import Metrics
from cs.paid_calls.current_work import CURRENT_LOOKUP, calls_noted, note_call
from cs.paid_calls.errors import CallsUnavailable, NotCharged, Unanswered, WrongCallsKey
from cs.paid_calls.problems import not_sent
from cs.runtime.coordination import in_background
from cs.runtime.ids import random_id
from cs.runtime.private_files import DeletedDataRemains
from cs.runtime.sql import Database, Work
from cs.sqlite.sql import SqliteDatabase

log = get_logger()

#: How long a call and its answer are remembered: as long as the topics whose messages may
#: come again, and longer than any lookup lasts.
RETENTION = timedelta(hours=1)
#: Calls forgotten in one go.
PAGE = 1_000
#: How often old calls are looked for; a call outlives its hour by at most this.
EVERY_S = 60.0
#: A call that takes longer is cut off; the HTTP clients give up after 10 s.
CALL_S = 12.0
#: How long others leave a call to the process that began it.  Longer than a call may take,
#: shorter than the silence after which a dead worker's stage is issued again (20 s).
LEASE_S = 15.0
#: How often an answer that another worker waits for is looked for.
LOOK_EVERY_S = 0.1

#: Makes the call with the idempotency key; returns what is to be remembered.
Make: TypeAlias = Callable[[str], Awaitable[bytes]]


class PaidCall(msgspec.Struct, frozen=True):
    """One question to one provider for one lookup, the same for every attempt."""

    lookup: str
    provider: str
    request: bytes  # the whole question, in one form


class CallLease(msgspec.Struct, frozen=True):
    """The caller holds the lease and makes the call; no other does.

    Attributes:
        holder: The id of this lease.
        idempotency_key: 32 hexadecimal digits; the same each time the call is begun.
    """

    call: PaidCall
    holder: str
    idempotency_key: str


class KnownAnswer(msgspec.Struct, frozen=True):
    answer: bytes


class CallInFlight(msgspec.Struct, frozen=True):
    """Another process makes the call, and its lease lasts for *left_s*."""

    left_s: float


class LostAnswer(msgspec.Struct, frozen=True):
    """The call was begun, its lease has ended, and there is no answer."""


class RememberedCall(msgspec.Struct, frozen=True):
    """A remembered call, without its answer, which is sealed.

    Attributes:
        answered: Whether an answer is remembered.
        left_s: How long it is still remembered; it may stay some minutes longer.
    """

    lookup: str
    provider: str
    answered: bool
    left_s: float


BeginResult = CallLease | KnownAnswer | CallInFlight | LostAnswer


class CallSeal:
    """The uses of a 32-byte key (AES-256-GCM; an answer is bound to its call).

    Raises:
        ValueError: *key* is not 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError(f"the key of the call register has {len(key)} bytes, not 32")
        self._box = AESGCM(hmac.digest(key, b"answer", "sha256"))
        self._request = hmac.digest(key, b"request", "sha256")
        self._idempotency = hmac.digest(key, b"idempotency", "sha256")

    @property
    def proof(self) -> bytes:
        """A hash that identifies this key."""
        return hmac.digest(self._request, b"proof", "sha256")

    def request(self, call: PaidCall) -> str:
        """Return the keyed hash of *call*, under which it is stored."""
        return hmac.digest(self._request, _bytes(call), "sha256").hex()

    def idempotency_key(self, call: PaidCall) -> str:
        return hmac.digest(self._idempotency, _bytes(call), "sha256").hex()[:32]

    def seal(self, call: PaidCall, answer: bytes) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._box.encrypt(nonce, answer, _bytes(call))

    def unseal(self, call: PaidCall, box: bytes) -> bytes:
        """Return the answer in *box*.

        Raises:
            CallsUnavailable: It is damaged, or of another call than *call*.
        """
        try:
            return self._box.decrypt(box[:12], box[12:], _bytes(call))
        except InvalidTag as error:
            raise CallsUnavailable("the remembered answer is damaged") from error


def _bytes(call: PaidCall) -> bytes:
    return f"{call.lookup}\0{call.provider}\0".encode() + call.request


def calls_away(error: Exception) -> CallsUnavailable:
    """Return the error to raise when the database of a register fails with *error*."""
    return CallsUnavailable(f"the register of paid calls: {error}")


class CallRegister:
    """The calls in *database*, whose clock decides when leases end.

    Workers that share a database share one key, which is in no database; it is not the master
    key of personal data.  Every method may raise `CallsUnavailable`.

    Args:
        database: The database, which has the tables of calls.
        key: Returns the key of 32 bytes when it is needed.  While calls are remembered that
            were sealed with another key, none is made (`WrongCallsKey`).
    """

    def __init__(self, database: Database, key: Callable[[], bytes]) -> None:
        self._database = database
        self._key = key

    @classmethod
    def in_file(cls, path: Path | None, key: Callable[[], bytes]) -> Self:
        """Return the register in a SQLite file, which the first call makes.

        Args:
            path: The file (mode 0600); in memory without one.
            key: As above.
        """
        database = SqliteDatabase(
            path,
            _SQLITE_SCHEMA,
            thread="calls",
            secure_delete=True,
            unavailable=calls_away,
        )
        return cls(database, key)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    @cached_property
    def _seal(self) -> CallSeal:
        return CallSeal(self._key())

    async def check_key(self) -> None:
        """Check that the remembered calls were sealed with this key.

        If none is remembered, a new key replaces the old one.  Every call checks again, since
        another worker may have replaced this key.

        Raises:
            WrongCallsKey: They were sealed with another key.
        """
        await self._database.transact(self._hold_key())

    async def begin(self, call: PaidCall, *, lease_s: float, again: bool) -> BeginResult:
        """Return whether the caller may make *call*; a lease is durable on return.

        Args:
            call: The call.
            lease_s: How long others leave it to the caller.
            again: Grant a new lease of a call whose answer is lost: with the same idempotency
                key, the provider does not charge for it twice.
        """
        return await self._database.transact(self._begin(call, lease_s, again=again))

    async def answer(self, begun: CallLease, answer: bytes) -> None:
        """Remember *answer*, unless the call has one already or was forgotten."""
        sealed = self._seal.seal(begun.call, answer)
        await self._database.fetch(_ANSWER, *self._named(begun.call), sealed)

    async def leave(self, begun: CallLease) -> None:
        """End the lease without an answer, if it is still held."""
        await self._database.fetch(_LEAVE, *self._named(begun.call), begun.holder)

    async def undo(self, begun: CallLease) -> None:
        """Delete the call, which was not made, if the lease is still held."""
        await self._database.fetch(_UNDO, *self._named(begun.call), begun.holder)

    async def forget_old(self) -> int:
        """Delete calls begun more than `RETENTION` ago, at most `PAGE`; return how many.

        Raises:
            DeletedDataRemains: They are deleted, but bytes of them are left.
        """
        await self._database.fetch(_BEGUN_BY_NOW)
        gone = await self._database.fetch(_FORGET, RETENTION.total_seconds(), PAGE)
        await self._database.wipe()
        return len(gone)

    async def remembered(self, lookups: Iterable[str]) -> Sequence[RememberedCall]:
        """Return the remembered calls of *lookups*, the oldest first; needs no key."""
        kept_s = RETENTION.total_seconds()
        found = [
            RememberedCall(lookup, provider, bool(answered), left_s)
            for each in set(lookups)
            for lookup, provider, answered, left_s in await self._database.fetch(
                _REMEMBERED, each, kept_s
            )
        ]
        return sorted(found, key=lambda call: call.left_s)

    async def asked(self) -> Sequence[tuple[str, str]]:
        """Return the lookup and the provider of every remembered call; needs no key."""
        rows = await self._database.fetch(_ASKED)
        return [(lookup, provider) for lookup, provider in rows]

    async def erase(self, lookups: Iterable[str]) -> int:
        """Delete every call of *lookups*; return how many.  Needs no key.

        No byte of them is left in the files.

        Raises:
            DeletedDataRemains: They are deleted, but bytes of them, or of calls that were
                deleted before, are left.
        """
        return await self._database.purge("calls", "lookup", list(lookups))

    def _named(self, call: PaidCall) -> tuple[str, str, str]:
        return call.lookup, call.provider, self._seal.request(call)

    def _hold_key(self) -> Work[float]:
        """Lock the row of the key until the transaction ends; return the time."""
        proof = self._seal.proof
        ((found, now),) = yield _HOLD_KEY, proof
        if found != proof and not (yield _TAKE_OVER, proof):
            raise WrongCallsKey(
                "paid calls of the last hour were sealed with another key; give this worker "
                "the one that the others have"
            )
        return float(now)

    def _begin(self, call: PaidCall, lease_s: float, *, again: bool) -> Work[BeginResult]:
        now = yield from self._hold_key()
        found = yield _FIND, *self._named(call)
        if found:
            ((answer, lease_until),) = found
            if answer is not None:
                return KnownAnswer(self._seal.unseal(call, answer))
            if 0 < lease_until - now <= lease_s:  # no longer, or the clock was ahead
                return CallInFlight(lease_until - now)
            if not again:
                return LostAnswer()
        holder = random_id("h-")
        yield _BEGIN, *self._named(call), now, now + lease_s, holder
        return CallLease(call, holder, self._seal.idempotency_key(call))


class PaidCalls:
    """Makes calls that cost money, each question of a lookup once.

    Outside the work of a stage there is no lookup and nothing that comes twice: each call
    is made.

    Args:
        register: Looked into before each call; without it each call is made.
        metrics: Where calls are counted.
    """

    def __init__(
        self, register: CallRegister | None, *, metrics: Metrics | None = None
    ) -> None:
        self.metrics = metrics or Metrics()
        self._paid_calls = self.metrics.paid_calls
        self._register = register

    async def once(
        self, provider: str, request: object, make: Make, *, takes_key: bool = False
    ) -> bytes:
        """Return the provider's answer to *request*, asked at most once a lookup.

        Errors of *make* are passed on.  After `NotCharged`, and if nothing can have been
        sent, the next attempt may ask.  After any other error the call may have been charged,
        and is not repeated.

        Args:
            provider: The provider; the same name for the same account.
            request: The whole question, in any shape that JSON has: equal means the same
                question.  It holds no secrets of the account, which may change.
            make: Asks the provider, within 12 s.
            takes_key: The provider takes an idempotency key, so that a call whose answer
                was lost may be made again with the same key.

        Raises:
            Unanswered: It was asked, and the answer is lost.
            CallsUnavailable: The register is away, so no request was made.
        """
        lookup = CURRENT_LOOKUP.get()
        register = self._register
        if lookup is None or register is None:
            return await make(os.urandom(16).hex())
        call = PaidCall(lookup, provider, msgspec.json.encode(request, order="deterministic"))
        match await self._begin(register, call, again=takes_key):
            case KnownAnswer(answer):
                self._paid_calls.of(provider, "remembered").inc()
                return answer
            case CallLease() as begun:
                return await self._made(register, begun, make)
            case LostAnswer() | CallInFlight():
                self._paid_calls.of(provider, "lost").inc()
                log.warning("paid_call_unanswered", lookup=lookup, provider=provider)
                raise Unanswered(f"{provider} was asked before, and its answer is lost")

    async def _begin(
        self, register: CallRegister, call: PaidCall, *, again: bool
    ) -> BeginResult:
        """Begin *call*; wait for a process that makes it, at most for two leases."""
        until = time.monotonic() + 2 * LEASE_S
        while True:
            found = await register.begin(call, lease_s=LEASE_S, again=again)
            if not isinstance(found, CallInFlight) or time.monotonic() >= until:
                return found
            await asyncio.sleep(min(found.left_s, LOOK_EVERY_S))

    async def _made(self, register: CallRegister, begun: CallLease, make: Make) -> bytes:
        provider = begun.call.provider
        noted, sent = calls_noted(provider), True
        try:
            async with asyncio.timeout(CALL_S):
                answer = await make(begun.idempotency_key)
        except TimeoutError as error:
            await _record(register.leave(begun), begun)
            raise Unanswered(f"{provider} did not answer in time") from error
        except Exception as error:
            sent = not not_sent(error)
            charged = sent and not isinstance(error, NotCharged)
            if sent and not charged:
                self._paid_calls.of(provider, "not_charged").inc()
            await _record((register.leave if charged else register.undo)(begun), begun)
            raise
        finally:
            if sent:
                self._paid_calls.of(provider, "made").inc()
        if calls_noted(provider) == noted:  # by a plug-in that knows no price
            note_call(provider)
        await _record(register.answer(begun, answer), begun)
        return answer


#: Makes each call: for commands that ask once, and tests of plug-ins.
EVERY_TIME = PaidCalls(None)


async def _record(recording: Awaitable[None], begun: CallLease) -> None:
    """Record a result; if the register is away the call stays begun, and is not repeated."""
    try:
        await recording
    except CallsUnavailable as error:
        log.warning(
            "paid_call_not_remembered",
            lookup=begun.call.lookup,
            provider=begun.call.provider,
            why=str(error),
        )


@asynccontextmanager
async def forget_expired_calls(register: CallRegister) -> AsyncIterator[None]:
    """Forget what is old in *register*, now and from time to time, until left."""

    async def forget() -> None:
        while True:
            try:
                while await register.forget_old() == PAGE:
                    pass
            except (CallsUnavailable, DeletedDataRemains) as error:
                log.warning("paid_calls_not_forgotten", why=str(error))
            await asyncio.sleep(EVERY_S)

    async with in_background(forget(), "forgetting-calls"):
        yield


_SQLITE_SCHEMA = (
    (
        "CREATE TABLE IF NOT EXISTS calls (lookup TEXT, provider TEXT, request TEXT, "
        "begun_at REAL NOT NULL, lease_until REAL NOT NULL, holder TEXT NOT NULL, answer BLOB, "
        "PRIMARY KEY (lookup, provider, request)) WITHOUT ROWID"
    ),
    "CREATE INDEX IF NOT EXISTS calls_begun_at ON calls (begun_at)",
    (
        "CREATE TABLE IF NOT EXISTS calls_key "
        "(one INTEGER PRIMARY KEY CHECK (one = 1), proof BLOB NOT NULL)"
    ),
)
# The next caller waits here, and then sees this one's call.
_HOLD_KEY = """
INSERT INTO calls_key (one, proof) VALUES (1, $1)
ON CONFLICT (one) DO UPDATE SET proof = calls_key.proof
RETURNING proof, date_part('epoch', clock_timestamp())
"""
#: A key may change while no call is remembered.
_TAKE_OVER = (
    "UPDATE calls_key SET proof = $1 WHERE NOT EXISTS (SELECT 1 FROM calls) RETURNING 1"
)
_CALL = "lookup = $1 AND provider = $2 AND request = $3"
_FIND = f"SELECT answer, date_part('epoch', lease_until) FROM calls WHERE {_CALL}"  # noqa: S608
# An answer that came since is not overwritten: its lease has no effect.
_BEGIN = """
INSERT INTO calls (lookup, provider, request, begun_at, lease_until, holder)
VALUES ($1, $2, $3, to_timestamp($4), to_timestamp($5), $6)
ON CONFLICT (lookup, provider, request) DO UPDATE
SET lease_until = excluded.lease_until, holder = excluded.holder
"""
_ANSWER = f"UPDATE calls SET answer = $4 WHERE {_CALL} AND answer IS NULL"  # noqa: S608
_HELD = f"{_CALL} AND holder = $4 AND answer IS NULL"
_LEAVE = f"UPDATE calls SET lease_until = clock_timestamp() WHERE {_HELD}"  # noqa: S608
_UNDO = f"DELETE FROM calls WHERE {_HELD}"  # noqa: S608
# Calls that were begun by a clock which was ahead count as begun now.
_BEGUN_BY_NOW = """
UPDATE calls SET begun_at = clock_timestamp() WHERE begun_at > clock_timestamp()
"""
_FORGET = """
DELETE FROM calls WHERE (lookup, provider, request) IN (
    SELECT lookup, provider, request FROM calls
    WHERE begun_at < to_timestamp(date_part('epoch', clock_timestamp()) - $1)
    ORDER BY begun_at LIMIT $2
)
RETURNING 1
"""
_ASKED = "SELECT DISTINCT lookup, provider FROM calls ORDER BY lookup, provider"
_REMEMBERED = """
SELECT lookup, provider, answer IS NOT NULL,
       date_part('epoch', begun_at) + $2 - date_part('epoch', clock_timestamp())
FROM calls WHERE lookup = $1
"""
