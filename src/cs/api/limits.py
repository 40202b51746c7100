"""Rate-limit headers, the 429s made here, and the window of the status and usage checks."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec

from cs.api.errors import ApiError, whole_seconds
from cs.domain.key import (
    MINUTE,
    PER_MINUTE,
    Key,
    KeyRevoked,
    KeyRotated,
    RateWindow,
    day_window,
    evolve,
    minute_window,
)
from cs.eventlog.port import Recorded
from cs.runtime.lru import LruDict

#: Contract text 8.
CHECKS_PER_MINUTE = 120
#: How old what is remembered of a key may be when a check beyond the limit is answered with it.
READ_AGAIN_S = 1.0
#: Keys whose checks are remembered; one forgotten starts a fresh minute.
KEYS = 20_000

_POLICY = '"minute";q=6;w=60, "day";q=60;w=86400'
_CHECKS_POLICY = f'{_POLICY}, "checks";q={CHECKS_PER_MINUTE};w=60'


class Check(msgspec.Struct, frozen=True):
    """One status or usage check, counted or refused."""

    at: datetime
    counted: bool
    window: RateWindow  # after it


class Checks(Protocol):
    """120 GETs a minute and key (contract L3).

    A check is counted before anything else is read, so that one beyond the limit costs no
    more database work however many come.
    """

    async def count(self, key_id: str, at: datetime) -> Check:
        """Count a check, unless 120 were counted in the 60 s before it.

        Args:
            key_id: Whose check.
            at: By the caller's clock; where nodes share a clock that one counts.

        Raises:
            LogUnavailable: Whether it was counted is not known.
        """

    async def uncount(self, key_id: str, at: datetime) -> None:
        """Uncount the check of *at* (`Check.at`): it was not answered."""


class MemoryChecks:
    """Counted in memory of this process.

    The times of a key are kept in their order, and those that left the window dropped, so
    that a check does not look at the others.  A clock that steps back stands still here.
    """

    def __init__(self) -> None:
        self._times = LruDict[str, deque[datetime]](KEYS)

    async def count(self, key_id: str, at: datetime) -> Check:
        times = self._times.get(key_id, deque())
        if times:
            at = max(at, times[-1])
        since = at - MINUTE
        while times and times[0] <= since:
            times.popleft()
        counted = len(times) < CHECKS_PER_MINUTE
        if counted:
            times.append(at)
            self._times[key_id] = times
        left = RateWindow(CHECKS_PER_MINUTE, CHECKS_PER_MINUTE - len(times), times[0] - since)
        return Check(at, counted, left)

    async def uncount(self, key_id: str, at: datetime) -> None:
        times = self._times.get(key_id, deque())
        if at in times:
            times.remove(at)


class RecentKeys:
    """The newest of what was read of each key: good for headers and to turn a secret away.

    Never to let one in.
    """

    def __init__(self) -> None:
        self._read_at: dict[str, float] = {}
        self._read = LruDict[str, Key](KEYS, lambda key_id, _: self._read_at.pop(key_id, None))

    def remember(self, key_id: str, key: Key) -> None:
        known = self._read.get(key_id, key)
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

    def on_events(self, page: Sequence[Recorded]) -> None:
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


def daily_headers(
    key: Key, at: datetime, checks: RateWindow | None = None
) -> Mapping[str, str]:
    """Return the headers of a response that describes the daily limit (contract L4)."""
    day = day_window(key, at)
    return _headers(day, minute_window(key, at), day, checks)


def hit_headers(
    limit: int, reset: timedelta, key: Key, at: datetime, checks: RateWindow | None = None
) -> Mapping[str, str]:
    """Return the headers of a 429: they describe the limit that was hit."""
    hit = RateWindow(limit, 0, reset)
    headers = _headers(hit, minute_window(key, at), day_window(key, at), checks)
    return {**headers, "Retry-After": str(whole_seconds(reset))}


def too_many_checks(check: Check, key: Key, at: datetime) -> ApiError:
    """Return what a call is told whose *check* was not counted."""
    window = check.window
    return ApiError(
        "rate_limited",
        f"{CHECKS_PER_MINUTE} status and usage checks per minute are allowed for a key; "
        "try again after the time in Retry-After",
        headers=hit_headers(CHECKS_PER_MINUTE, window.reset, key, at, window),
    )


def too_many_waiting(key: Key, at: datetime) -> ApiError:
    """Return what a call is told whose key has more calls waiting than a minute allows.

    ``rate_limited`` is true of it: those before it fill the minute's window, or are refused
    for what would refuse this one too.  They leave the window within a minute of being
    decided, which takes under a second.
    """
    message = (
        "more calls of this key are waiting to be answered than a minute allows; "
        "try again after the time in Retry-After"
    )
    headers = hit_headers(PER_MINUTE, MINUTE + timedelta(seconds=1), key, at)
    return ApiError("rate_limited", message, headers=headers)


def _headers(
    described: RateWindow, minute: RateWindow, day: RateWindow, checks: RateWindow | None
) -> Mapping[str, str]:
    windows = {"minute": minute, "day": day}
    if checks is not None:
        windows["checks"] = checks
    # draft-ietf-httpapi-ratelimit-headers: 06 has the three fields, 08 to 11 the two.
    return {
        "RateLimit-Limit": str(described.limit),
        "RateLimit-Remaining": str(described.remaining),
        "RateLimit-Reset": str(whole_seconds(described.reset)),
        "RateLimit-Policy": _POLICY if checks is None else _CHECKS_POLICY,
        "RateLimit": ", ".join(
            f'"{name}";r={w.remaining};t={whole_seconds(w.reset)}'
            for name, w in windows.items()
        ),
    }
