"""Options that name a moment of the history: a position of the log, or a time."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from cyclopts import Parameter

from cs.cli.output import stop
from cs.history.history import History

At = Annotated[
    str | None,
    Parameter(help="As of this position or time (2026-03-01T12:00:00Z); else now."),
]


async def position_of(history: History, option: str, said: str) -> int:
    """Return the position that the value *said* of *option* means; of a time its last one.

    Digits are a position, but for eight that are a date.

    Raises:
        SystemExit: It is neither a position that there is nor a time.
    """
    if said.isdecimal() and not (len(said) == len("20260301") and _is_time(said)):
        head = await history.head()
        if int(said) > head:
            stop(f"{option}: the log ends at position {head}, before {said}", 2)
        return int(said)
    at = _time(option, "a position or a time", said)
    return await history.position_at(at + _left_out(said))


async def end_of(history: History, at: str | None) -> int:
    """Return the last position that is looked at with ``--at`` *at*; ``None``: the log's last.

    Raises:
        SystemExit: It is neither a position nor a time.
    """
    return await history.head() if at is None else await position_of(history, "--at", at)


def time_of(option: str, said: str | None) -> datetime | None:
    """Return the time that *said*, the value of *option*, means; without a zone it is UTC.

    Raises:
        SystemExit: It is none.
    """
    return None if said is None else _time(option, "a time", said)


def _time(option: str, wanted: str, said: str) -> datetime:
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        stop(f"{option}: {wanted} such as 2026-03-01T12:00:00Z, not {said!r}", 2)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _is_time(said: str) -> bool:
    try:
        datetime.fromisoformat(said)
    except ValueError:
        return False
    return True


def _left_out(said: str) -> timedelta:
    """Return how much later than the time *said* its last digit reaches.

    A time is printed without some of its digits, so what happened within its last one counts;
    the queries of docs/analysts.md compare as many characters.

    >>> _left_out("2026-03-01T12:00:00Z"), _left_out("2026-03-01T12:00:00.125Z")
    (datetime.timedelta(microseconds=999999), datetime.timedelta(microseconds=999))
    """
    fraction = re.search(r"[.,](\d{1,6})", said)
    digits = len(fraction[1]) if fraction else 0
    return timedelta(microseconds=10 ** (6 - digits) - 1)
