"""What a row of a list ends with, and what the command does."""

from collections.abc import Sequence

from cs.cli.brand_list.journal import Ended, Trouble
from cs.cli.brand_list.rows import Row
from cs.cli.exit_codes import LIMITED, NO_QUOTA
from cs.cli.refusals import exit_code
from cs.client import (
    ClientError,
    Done,
    Failed,
    Other,
    Outcome,
    Search,
)

#: From the one that lasts longest, as the service tells them (contract R4).
_GRAVITY = (NO_QUOTA, LIMITED)


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


def gravest(errors: Sequence[ClientError]) -> ClientError | None:
    """Return the one of *errors* that the command ends with; None if there is none.

    Quota comes before a limit, that before anything else, and the longer wait first.
    """
    if not errors:
        return None

    def gravity(error: ClientError) -> tuple[bool, ...]:
        return tuple(exit_code(error) == code for code in _GRAVITY)

    return max(errors, key=lambda error: (gravity(error), error.retry_after_s or 0))
