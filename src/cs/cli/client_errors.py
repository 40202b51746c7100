"""An error of a call as one sentence, and the exit code of a command that searches."""

from collections.abc import Sequence

from cs.cli.app import LIMITED, NO_QUOTA
from cs.cli.output import harmless
from cs.cli.progress import span
from cs.client import ClientError, QuotaExceeded, TooManyRequests, Unavailable


def exit_code(error: ClientError) -> int:
    """Return the exit code of the command after *error*."""
    match error:
        case QuotaExceeded():
            return NO_QUOTA
        case TooManyRequests() | Unavailable():
            return LIMITED
        case _:
            return 1


def most_severe(errors: Sequence[ClientError]) -> ClientError | None:
    """Return the error that a list ends with: quota, then limits, then the longest wait.

    The service itself reports them in this order (contract R4).
    """

    def severity(error: ClientError) -> tuple[bool, bool, float]:
        code = exit_code(error)
        return code == NO_QUOTA, code == LIMITED, error.retry_after_s or 0

    return max(errors, key=severity, default=None)


def describe(error: ClientError) -> str:
    """Return *error* as one sentence."""
    seconds = error.retry_after_s
    wait = f" (try again in {span(seconds)})" if seconds else ""
    return f"{harmless(error.code)}: {harmless(str(error))}{wait}"
