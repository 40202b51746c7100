"""Options that name a moment of the history: a position of the log, or a time."""

from datetime import UTC, datetime
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

    Raises:
        SystemExit: It is neither a position nor a time.
    """
    if said.isdecimal():
        return int(said)
    return await history.position_at(_time(option, "a position or a time", said))


async def end_of(history: History, at: str | None) -> int:
    """Return the last position that is looked at with ``--at`` *at*; ``None``: the log's last.

    Raises:
        SystemExit: It is neither a position nor a time.
    """
    head = await history.head()
    return head if at is None else min(await position_of(history, "--at", at), head)


def never_looked_up(at: str | None) -> str:
    """Return what is said of a brand that has no lookups, or had none by *at*."""
    if at is not None:
        return "that brand had not been looked up by then"
    return "that brand was never looked up; `cs brands list` shows those that were"


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
