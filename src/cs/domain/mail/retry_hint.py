"""When a mail server says to come back: "try again in 5 minutes", "in 00:02:00"."""

import re

_CLOCK = re.compile(
    r"\b(?:in|after|for|wait|back|least)\s+(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)\b"
)
_SPAN = re.compile(
    r"(?<![\w.:#-])(?P<n>\d{1,5})[ -]?"
    r"(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?:\(s\))?(?![\w.-]*\w)"
)
_UNIT_S = {"s": 1, "m": 60, "h": 3600}
#: A hint longer than this is no use to a lookup that lives for minutes.
_LONGEST_S = 86_400
#: Characters of a reply that are read: a server may send as much as it likes.
_READ = 2_000


def retry_hint(text: str) -> float | None:
    """Return the seconds that *text* asks to wait; ``None`` if it names no time.

    Neighbouring spans add up ("4 minutes 30 seconds"); of several apart the first counts.
    More than a day, or nothing at all, is no hint.

    >>> retry_hint("Greylisted, please try again in 5 minutes")
    300.0
    >>> retry_hint("come back in 00:02:00")
    120.0
    >>> retry_hint("see 2.0.0 at 12:30:15") is None
    True
    """
    lower = text[:_READ].casefold()
    if clock := _CLOCK.search(lower):
        total = int(clock["h"]) * 3600 + int(clock["m"]) * 60 + int(clock["s"])
    else:
        total = _spans(lower)
    return float(total) if 0 < total <= _LONGEST_S else None


def _spans(text: str) -> int:
    total, end = 0, None
    for span in _SPAN.finditer(text):
        if end is not None and not re.fullmatch(r"[\s,]*(?:and)?\s*", text[end : span.start()]):
            break
        total += int(span["n"]) * _UNIT_S[span["unit"][0]]
        end = span.end()
    return total
