"""How a row of a list ends, and which of several errors the command ends with."""

from collections.abc import Sequence

from cs.cli.brand_list.entries import RowError, RowFinished
from cs.cli.brand_list.rows import Row
from cs.cli.client_errors import exit_code
from cs.cli.exit_codes import LIMITED, NO_QUOTA
from cs.client import (
    ClientError,
    Done,
    Failed,
    Other,
    Outcome,
    Search,
)

#: From the one that lasts longest, as the service tells them (contract R4).
_SEVERITY = (NO_QUOTA, LIMITED)


def finished_row(key: str, row: Row, outcome: Outcome) -> RowFinished:
    """Return how *outcome* finished *row*."""
    search: Search | None = outcome.search
    match search:
        case Done() | Failed():
            return RowFinished(key, row, search=search)
        case Other():
            return RowFinished(key, row, other=search)
        case _:
            error = outcome.error
            assert error is not None, "a query ends with a search or an error"
            return RowFinished(
                key, row, error=RowError(error.code, error.status, error.message)
            )


def most_severe(errors: Sequence[ClientError]) -> ClientError | None:
    """Return the one of *errors* that the command ends with; None if there is none.

    Quota comes before a limit, that before anything else, and the longer wait first.
    """
    if not errors:
        return None

    def severity(error: ClientError) -> tuple[bool, ...]:
        return tuple(exit_code(error) == code for code in _SEVERITY)

    return max(errors, key=lambda error: (severity(error), error.retry_after_s or 0))
