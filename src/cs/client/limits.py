"""A key's limits and what is left of them, from an answer's headers (docs/http-api.md)."""

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime

import msgspec

#: A whole number that no header needs to exceed.
_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)
_ITEM = re.compile(r'(?:"([^"]*)"|([A-Za-z*][\w*.:/-]*))((?:\s*;[^;,"]*)*)', re.ASCII)


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """One limit by its name: *limit* in *span_s* seconds, *remaining* of it.

    Attributes:
        reset_s: Seconds until there is more.
    """

    limit: int | None = None
    span_s: int | None = None
    remaining: int | None = None
    reset_s: int | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits in one answer: the one it describes, and all of them by name.

    On a 429 `limit`, `remaining` and `reset_s` describe the limit that was hit, on
    anything else the daily one.  `windows` is empty if the server names none.
    """

    limit: int | None = None
    remaining: int | None = None
    reset_s: int | None = None
    windows: Mapping[str, Window] = msgspec.field(default_factory=dict[str, Window])

    def full_for_s(self) -> int:
        """Return the seconds until each limit has room again; 0 if all have.

        >>> Limits(limit=60, remaining=0, reset_s=9).full_for_s()
        9
        """
        named: Iterable[Window | Limits] = self.windows.values() or (self,)
        return max((w.reset_s or 0 for w in named if w.remaining == 0), default=0)


def read_limits(headers: Mapping[str, str]) -> Limits | None:
    """Return the limits in *headers* (names in lower case); None if there are none.

    Both forms are read: the three fields of draft-ietf-httpapi-ratelimit-headers-06 and
    the two structured ones of drafts 08 to 11.  What is malformed is left out.

    >>> found = read_limits({"ratelimit": '"minute";r=5;t=60', "ratelimit-limit": "60"})
    >>> found.limit, found.windows["minute"].remaining, found.windows["minute"].reset_s
    (60, 5, 60)
    """
    policy = _items(headers.get("ratelimit-policy", ""))
    left = _items(headers.get("ratelimit", ""))
    windows = {}
    for name in [*policy, *(name for name in left if name not in policy)]:
        quota, now = policy.get(name, {}), left.get(name, {})
        windows[name] = Window(
            limit=quota.get("q"),
            span_s=quota.get("w"),
            remaining=now.get("r"),
            reset_s=now.get("t"),
        )
    limits = Limits(
        limit=_number(headers.get("ratelimit-limit")),
        remaining=_number(headers.get("ratelimit-remaining")),
        reset_s=_number(headers.get("ratelimit-reset")),
        windows=windows,
    )
    return None if limits == Limits() else limits


def read_retry_after(headers: Mapping[str, str]) -> int | None:
    """Return the seconds that ``Retry-After`` asks for, in either of its forms.

    A date is counted from the answer's own ``Date`` (RFC 9110 section 10.2.3), so that
    this machine's clock has no part in it.
    """
    value = headers.get("retry-after", "")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers["date"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return max(0, round(wait.total_seconds()))


def _items(value: str) -> dict[str, dict[str, int]]:
    """Return the parameters of each item of a structured field that are whole numbers."""
    items: dict[str, dict[str, int]] = {}
    for quoted, token, rest in _ITEM.findall(value):
        pairs = (part.partition("=") for part in rest.split(";")[1:])
        numbers = {name.strip(): _number(text) for name, _, text in pairs}
        items[quoted or token] = {k: n for k, n in numbers.items() if n is not None}
    return items


def _number(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if _NUMBER.fullmatch(text) else None
