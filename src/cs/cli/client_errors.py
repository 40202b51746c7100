"""An error of a call as one sentence, and what a command that searches ends with."""

from cs.cli.exit_codes import LIMITED, NO_QUOTA
from cs.cli.foreign_text import harmless
from cs.cli.progress import span
from cs.client import ClientError, QuotaExceeded, TooManyRequests, Unavailable


def exit_code(error: ClientError) -> int:
    """Return what the command ends with after *error*."""
    match error:
        case QuotaExceeded():
            return NO_QUOTA
        case TooManyRequests() | Unavailable():
            return LIMITED
        case _:
            return 1


def describe(error: ClientError) -> str:
    """Return *error* as one sentence."""
    seconds = error.retry_after_s
    wait = f" (try again in {span(seconds)})" if seconds else ""
    return f"{harmless(error.code)}: {harmless(str(error))}{wait}"
