"""Rate-limit headers (contract L4 to L7), and the 429s that are not the domain's."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from cs.api.errors import ApiError, whole_seconds
from cs.checks.checks import CHECKS_PER_MINUTE, Check
from cs.domain.key import Key, day_window, minute_window
from cs.domain.rate_limits import MINUTE, RateWindow


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
    """Return the refusal of a call whose *check* was not counted."""
    window = check.window
    return ApiError(
        "rate_limited",
        f"{CHECKS_PER_MINUTE} status and usage checks per minute are allowed for a key; "
        "try again after the time in Retry-After",
        headers=hit_headers(CHECKS_PER_MINUTE, window.reset, key, at, window),
    )


def too_many_waiting(key: Key, at: datetime) -> ApiError:
    """Return the refusal of a call whose key has more calls waiting than a minute allows.

    ``rate_limited`` is true of it: those before it fill the minute's window, or are refused
    for what would refuse this one too.  They leave the window within a minute of being
    decided, which takes under a second.
    """
    message = (
        "more calls of this key are waiting to be answered than a minute allows; "
        "try again after the time in Retry-After"
    )
    headers = hit_headers(key.per_minute, MINUTE + timedelta(seconds=1), key, at)
    return ApiError("rate_limited", message, headers=headers)


def _headers(
    described: RateWindow, minute: RateWindow, day: RateWindow, checks: RateWindow | None
) -> Mapping[str, str]:
    windows = {"minute": (minute, 60), "day": (day, 86_400)}
    if checks is not None:
        windows["checks"] = (checks, 60)
    # draft-ietf-httpapi-ratelimit-headers: 06 has the three fields, 08 to 11 the two.
    return {
        "RateLimit-Limit": str(described.limit),
        "RateLimit-Remaining": str(described.remaining),
        "RateLimit-Reset": str(whole_seconds(described.reset)),
        "RateLimit-Policy": ", ".join(
            f'"{name}";q={w.limit};w={span_s}' for name, (w, span_s) in windows.items()
        ),
        "RateLimit": ", ".join(
            f'"{name}";r={w.remaining};t={whole_seconds(w.reset)}'
            for name, (w, _) in windows.items()
        ),
    }
