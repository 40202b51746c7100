"""What a row of a list ends with, and what the command does."""

from collections.abc import Sequence

from cs.cli.brand_list.journal import Ended, Trouble
from cs.cli.brand_list.rows import Row
from cs.cli.exit_codes import LIMITED, NO_QUOTA
from cs.cli.refusals import exit_code
from cs.client import (
    AtCapacity,
    BadRequest,
    ClientError,
    Done,
    Failed,
    InFlight,
    NotFound,
    Other,
    Outcome,
    Paused,
    QuotaExceeded,
    RateLimited,
    Search,
    Window,
)

#: From the one that lasts longest, as the service tells them (contract R4).
_GRAVITY = (NO_QUOTA, LIMITED)


def is_final(outcome: Outcome, error: ClientError) -> bool:
    """Return whether the row is finished with *error*: asked again it would be the same."""
    if isinstance(error, NotFound):  # of no search, it is the address that is wrong
        return bool(outcome.query.search) or error.search is not None
    return isinstance(error, BadRequest)


def ended(key: str, row: Row, outcome: Outcome) -> Ended:
    """Return how *outcome* finished *row*."""
    search: Search | None = outcome.search
    match search:
        case Done() | Failed():
            return Ended(key, row, search=search)
        case Other():
            return Ended(key, row, other=search)
        case _:
            error = outcome.error
            assert error is not None, "a query ends with a search or an error"
            return Ended(key, row, error=Trouble(error.code, error.status, error.message))


def shows_unknown(error: ClientError) -> bool:
    """Return whether *error* shows that the idempotency key is not known to the service.

    It looks a key up after secret, path and body, and before pause, quota and limits
    (contract O1 to O11): what is refused by one of those has nothing stored under its key.
    Of the limits only the daily one shows it, as the others are told for calls, too, that
    are known (checks) or were not looked at (a line of calls that is full).
    """
    match error:
        case QuotaExceeded() | InFlight() | AtCapacity() | Paused():
            return not error.in_doubt
        case RateLimited(limits=limits) if limits is not None:
            day = limits.windows.get("day", Window())
            is_hit = day.remaining == 0 and day.limit is not None and day.limit == limits.limit
            return is_hit and not error.in_doubt
        case _:
            return False


def gravest(errors: Sequence[ClientError]) -> ClientError | None:
    """Return the one of *errors* that the command ends with; None if there is none.

    Quota comes before a limit, that before anything else, and the longer wait first.
    """
    if not errors:
        return None

    def gravity(error: ClientError) -> tuple[bool, ...]:
        return tuple(exit_code(error) == code for code in _GRAVITY)

    return max(errors, key=lambda error: (gravity(error), error.retry_after_s or 0))
