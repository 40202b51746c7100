"""How long a service asks to be left alone."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

#: Nobody is believed who asks for more.
LONGEST_S = 24 * 3600.0


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
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            at = parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_S)
