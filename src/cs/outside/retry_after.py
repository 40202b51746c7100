"""How long a service asks to be left alone."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

#: A longer wait is not believed.
LONGEST_S = 24 * 3600.0

#: RFC 9110 10.2.3 has whole seconds; some services send parts of one.
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?")
_LONGEST_DATE = 64  # characters; the longest form of RFC 9110 5.6.7 has 33


def retry_after_s(headers: Mapping[str, str], *, now: datetime) -> float | None:
    """Return the seconds that ``Retry-After`` in *headers* asks for, 0 to a day.

    ``None`` without the header, or with one in neither of the two forms of RFC 9110
    10.2.3.  Header names are lower-case.

    >>> now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    >>> retry_after_s({"retry-after": "7"}, now=now)
    7.0
    >>> retry_after_s({"retry-after": "Sat, 21 Nov 2026 12:01:00 GMT"}, now=now)
    60.0
    """
    text = headers.get("retry-after", "").strip()
    seconds = float(text) if _SECONDS.fullmatch(text) else _until(text, now)
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_S)


def _until(text: str, now: datetime) -> float | None:
    """Return the seconds from *now* to the date *text*; ``None`` if it is none."""
    if len(text) > _LONGEST_DATE:
        return None
    try:
        at = parsedate_to_datetime(text)
        return (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    # A year, an hour or a zone may be any number, and then there is no such moment.
    except (ValueError, OverflowError, TypeError):
        return None
