"""Times as users write them."""

from datetime import UTC, datetime

from cs.cli.output import stop


def time_of(option: str, said: str | None) -> datetime | None:
    """Return the moment that *said*, the value of *option*, means; in UTC if it names no zone.

    Raises:
        SystemExit: It is none.
    """
    if said is None:
        return None
    try:
        at = datetime.fromisoformat(said)
    except ValueError:
        stop(f"{option}: a time such as 2026-03-01 or 2026-03-01T12:00:00Z, not {said!r}", 2)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
