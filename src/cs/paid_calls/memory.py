"""Paid calls in memory, for tests: a process that ends forgets them."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

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


@dataclass
class _Row:
    begun_at: float
    lease_until: float
    holder: str
    answer: bytes | None = None


class MemoryCalls:
    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._seal = CallSeal(os.urandom(32))
        self._rows: dict[PaidCall, _Row] = {}

    async def begin(self, call: PaidCall, *, lease_s: float, again: bool) -> BeginResult:
        now = self._monotonic()
        row = self._rows.get(call)
        if row is not None:
            if row.answer is not None:
                return KnownAnswer(row.answer)
            if row.lease_until > now:
                return CallInFlight(row.lease_until - now)
            if not again:
                return LostAnswer()
        holder = random_id("h-")
        self._rows[call] = _Row(row.begun_at if row else now, now + lease_s, holder)
        return CallLease(call, holder, self._seal.idempotency_key(call))

    async def answer(self, begun: CallLease, answer: bytes) -> None:
        row = self._rows.get(begun.call)
        if row is not None and row.answer is None:
            row.answer = answer

    async def leave(self, begun: CallLease) -> None:
        row = self._held(begun)
        if row is not None:
            row.lease_until = self._monotonic()

    async def undo(self, begun: CallLease) -> None:
        if self._held(begun) is not None:
            del self._rows[begun.call]

    async def forget_old(self) -> int:
        old = self._monotonic() - RETENTION.total_seconds()
        calls = (call for call, row in self._rows.items() if row.begun_at < old)
        return self._delete(islice(calls, PAGE))

    async def remembered(self, lookups: Iterable[str]) -> Sequence[RememberedCall]:
        wanted, now = set(lookups), self._monotonic()
        found = sorted(
            ((row.begun_at, call, row) for call, row in self._rows.items()),
            key=lambda each: each[0],
        )
        kept_s = RETENTION.total_seconds()
        return [
            RememberedCall(
                call.lookup, call.provider, row.answer is not None, begun_at + kept_s - now
            )
            for begun_at, call, row in found
            if call.lookup in wanted
        ]

    async def erase(self, lookups: Iterable[str]) -> int:
        wanted = set(lookups)
        return self._delete(call for call in self._rows if call.lookup in wanted)

    def _delete(self, calls: Iterable[PaidCall]) -> int:
        gone = list(calls)
        for call in gone:
            del self._rows[call]
        return len(gone)

    def _held(self, begun: CallLease) -> _Row | None:
        row = self._rows.get(begun.call)
        held = row is not None and row.holder == begun.holder and row.answer is None
        return row if held else None
