"""Paid calls in a SQLite file (mode 0600) in the data folder, for a service in one process."""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from cs.paid_calls.errors import CallsUnavailable, WrongCallsKey
from cs.paid_calls.port import (
    PAGE,
    RETENTION,
    BeginResult,
    CallInFlight,
    CallLease,
    KnownAnswer,
    LostAnswer,
    PaidCall,
    RememberedCall,
)
from cs.paid_calls.sealing import CallSeal
from cs.runtime.ids import random_id
from cs.sqlite.database import LOCK_TIMEOUT_S, transaction, wipe
from cs.sqlite.file_on_demand import FileOnDemand


class SqliteCalls:
    """Use as ``async with``.  The file is made by the first call.

    Args:
        path: Of the file.
        key: Gives the key when it is needed, 32 bytes.  While calls are remembered that
            were sealed with another one, none is made (`WrongCallsKey`).
        now: What leases go by: seconds that go on when the process ends.
        lock_timeout_s: How long to wait for another process's transaction.
    """

    def __init__(
        self,
        path: Path,
        key: Callable[[], bytes],
        *,
        now: Callable[[], float] = time.time,
        lock_timeout_s: int = LOCK_TIMEOUT_S,
    ) -> None:
        self._key = key
        self._now = now
        self._file = FileOnDemand(
            path,
            _SCHEMA,
            thread="calls",
            secure_delete=True,
            unavailable=lambda error: CallsUnavailable(f"the register of paid calls: {error}"),
            lock_timeout_s=lock_timeout_s,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._file.close()

    async def begin(self, call: PaidCall, *, lease_s: float, again: bool) -> BeginResult:
        return await self._file.run(self._begin, call, lease_s, again)

    async def answer(self, begun: CallLease, answer: bytes) -> None:
        box = {"answer": self._seal.seal(begun.call, answer)}
        await self._file.run(self._write, _ANSWER, self._named(begun.call) | box)

    async def leave(self, begun: CallLease) -> None:
        await self._file.run(self._write, _LEAVE, self._held(begun) | {"now": self._now()})

    async def undo(self, begun: CallLease) -> None:
        await self._file.run(self._write, _UNDO, self._held(begun))

    async def forget_old(self) -> int:
        now = self._now()
        await self._file.run(self._begun_by, now)
        rows = [{"old": now - RETENTION.total_seconds(), "page": PAGE}]
        return await self._file.run(self._delete, _FORGET, rows, rewrite=False)

    async def remembered(self, lookups: Iterable[str]) -> Sequence[RememberedCall]:
        return await self._file.run(self._remembered, tuple(lookups))

    async def erase(self, lookups: Iterable[str]) -> int:
        rows = [{"lookup": lookup} for lookup in lookups]
        return await self._file.run(self._delete, _ERASE, rows, rewrite=True)

    def _named(self, call: PaidCall) -> dict[str, Any]:
        return {
            "lookup": call.lookup,
            "provider": call.provider,
            "request": self._seal.request(call),
        }

    def _held(self, begun: CallLease) -> dict[str, Any]:
        return self._named(begun.call) | {"holder": begun.holder}

    # What runs in the thread.

    @cached_property
    def _seal(self) -> CallSeal:
        return CallSeal(self._key())

    def _begin(self, call: PaidCall, lease_s: float, again: bool) -> BeginResult:
        now = self._now()
        holder = random_id("h-")
        named = self._named(call)
        with transaction(self._file.db):
            self._check_key()
            found = self._file.db.execute(_FIND, named).fetchone()
            if found is not None:
                answer, lease_until = found
                if answer is not None:
                    return KnownAnswer(self._seal.unseal(call, answer))
                if 0 < lease_until - now <= lease_s:  # no longer, or the clock was ahead
                    return CallInFlight(lease_until - now)
                if not again:
                    return LostAnswer()
            lease = {"now": now, "until": now + lease_s, "holder": holder}
            self._file.db.execute(_BEGIN, named | lease)
        return CallLease(call, holder, self._seal.idempotency_key(call))

    def _check_key(self) -> None:
        """Pass if what is remembered was sealed with this key; a new one takes over nothing."""
        self._file.db.execute(_TAKE_OVER, (self._seal.proof,))
        (proof,) = self._file.db.execute("SELECT proof FROM calls_key").fetchone()
        if proof != self._seal.proof:
            raise WrongCallsKey(
                "paid calls of the last hour were sealed with another key; none is made "
                "before they are forgotten, or else it might be paid for twice"
            )

    def _write(self, statement: str, values: dict[str, Any]) -> None:
        self._file.db.execute(statement, values)

    def _remembered(self, lookups: Sequence[str]) -> list[RememberedCall]:
        if not self._file.exists:
            return []
        ends = RETENTION.total_seconds() - self._now()
        found = (row for each in lookups for row in self._file.db.execute(_REMEMBERED, (each,)))
        return [
            RememberedCall(lookup, provider, bool(answered), begun_at + ends)
            for lookup, provider, answered, begun_at in sorted(found, key=lambda row: row[3])
        ]

    def _begun_by(self, now: float) -> None:
        """Count calls that a clock which was ahead has begun in the future as begun *now*."""
        if self._file.exists:
            self._write("UPDATE calls SET begun_at = :now WHERE begun_at > :now", {"now": now})

    def _delete(self, statement: str, rows: list[dict[str, Any]], *, rewrite: bool) -> int:
        if not self._file.exists:
            return 0
        with transaction(self._file.db):
            gone = sum(self._file.db.execute(statement, row).rowcount for row in rows)
        wipe(self._file.db, rewrite=rewrite)  # also of what could not be wiped before
        return gone


_SCHEMA = (
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
#: A key may change while there is nothing that it would have to open.
_TAKE_OVER = (
    "INSERT INTO calls_key (one, proof) VALUES (1, ?) ON CONFLICT (one) DO UPDATE "
    "SET proof = excluded.proof WHERE NOT EXISTS (SELECT 1 FROM calls)"
)
_CALL = "lookup = :lookup AND provider = :provider AND request = :request"
_FIND = f"SELECT answer, lease_until FROM calls WHERE {_CALL}"  # noqa: S608  no value in it
_BEGIN = (
    "INSERT INTO calls (lookup, provider, request, begun_at, lease_until, holder) "
    "VALUES (:lookup, :provider, :request, :now, :until, :holder) "
    "ON CONFLICT DO UPDATE SET lease_until = :until, holder = :holder"
)
_ANSWER = f"UPDATE calls SET answer = :answer WHERE {_CALL} AND answer IS NULL"  # noqa: S608
_HELD = f"{_CALL} AND holder = :holder AND answer IS NULL"
_LEAVE = f"UPDATE calls SET lease_until = :now WHERE {_HELD}"  # noqa: S608
_UNDO = f"DELETE FROM calls WHERE {_HELD}"  # noqa: S608
_FORGET = (
    "DELETE FROM calls WHERE (lookup, provider, request) IN (SELECT lookup, provider, request "
    "FROM calls WHERE begun_at < :old ORDER BY begun_at LIMIT :page)"
)
_REMEMBERED = (
    "SELECT lookup, provider, answer IS NOT NULL, begun_at FROM calls WHERE lookup = ?"
)
_ERASE = "DELETE FROM calls WHERE lookup = :lookup"
